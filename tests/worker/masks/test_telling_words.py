"""Which words vary without saying anything, and which say what happened."""

import pytest

from worker.masks.telling_words import is_telling, varies

USERS = ("ada", "bob", "carol", "dave", "erin", "frank")


@pytest.mark.parametrize(
    "words",
    [
        USERS,
        ("db-1.example", "db-2.example", "cache.example"),
        ("/srv/a", "/srv/b", "/home/c"),
        ("orders_v", "users_v", "carts_v"),
        (*USERS, *(f"user{i}" for i in range(10)), "info"),
    ],
)
def test_names_vary(words: tuple[str, ...]) -> None:
    assert varies(words, ())


@pytest.mark.parametrize(
    "words",
    [
        ("opened", "closed", "refused", "accepted", "waiting", "rejected"),
        ("GET", "POST", "PUT", "DELETE", "HEAD"),
        ("LOOKING", "FOLLOWING", "LEADING", "OBSERVING", "DOWN"),
        ("ECONNRESET", "ETIMEDOUT", "EPIPE", "ENOENT", "EACCES"),
        ("java.io.IOException", "java.net.SocketException", "java.sql.SQLException"),
        ("ORA-", "TNS-", "PLS-", "SP-", "IMP-"),
        ("Device::start", "Device::stop", "Driver::start"),
        ("true", "false", "null", "none", "off"),
        ("INFO,", "WARN,", "ERROR,", "DEBUG,", "FATAL,"),
    ],
)
def test_codes_states_methods_and_exceptions_tell_what_happened(words: tuple[str, ...]) -> None:
    assert not varies(words, ())
    assert all(is_telling(word.strip(",")) for word in words)


def test_few_ordinary_words_may_be_part_of_the_message() -> None:
    assert not varies(USERS[:4], ())
    assert varies(USERS[:5], ())


def test_words_that_stand_where_nothing_varies_are_part_of_the_message() -> None:
    assert varies(USERS, ("disk", "ada"))
    assert not varies(USERS, USERS[:3])


def test_the_key_before_the_words_decides_first() -> None:
    assert varies(USERS[:3], (), before="user=")
    assert not varies(USERS, (), before="reason=")
    assert not varies(USERS, (), before="failed, reason =")


def test_what_is_asked_of_a_web_server_tells_what_was_done() -> None:
    paths = ("servers", "flavors/list", "images/detail", "limits")
    assert varies(paths, (), before="reading /")
    assert not varies(paths, (), before='"GET /')
