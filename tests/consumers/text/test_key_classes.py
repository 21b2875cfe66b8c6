"""The classes of keys: what varies goes, what says what happened stays, whatever the case they are written in."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumers.columns import as_texts, string_column
from consumers.text import regex
from consumers.text.key_classes import VARYING_KEYS, varies

GO = {
    "OpenTelemetry": "client.address server.port user_agent.original url.path url.full http.request.body.size host.name host.id"
    " network.peer.address code.file.path thread.id thread.name service.instance.id k8s.pod.name exception.stacktrace session.id",
    "Elastic": "source.ip destination.port user.name user.id process.pid file.path file.size event.duration @timestamp host.hostname",
    "PAM and auditd": "logname uid euid tty ruser rhost user auid ses acct exe hostname addr terminal fsuid ppid",
    "sudo and Postfix": "TTY PWD USER relay delay client size",
    "klog and Docker": "pod node containerName containerID namespace image duration",
    "PostgreSQL": "user database client",
    "Hadoop": "ugi ip src dst blockId sessionid srcport",
    "services": "md5 sha256 ipv4"
    " user_id userId userID request-id requestId X-Request-ID requestIDs trace_id spanId srcIp remote_addr created_at updatedAt latency_ms"
    " elapsedMs startTime start_time bytes bytes_sent contentLength queue_size error_path status_user error_count reason_id",
}
STAY = {
    "OpenTelemetry": "http.response.status_code http.request.method http.route url.scheme network.protocol.name error.type exception.type"
    " exception.message log.logger service.name",
    "Elastic": "event.outcome event.action event.category log.level event.code event.reason",
    "PAM and auditd": "res result op exit_status",
    "sudo and Hadoop": "COMMAND cmd",
    "klog and Docker": "err reason operation statusCode",
    "PostgreSQL": "detail severity",
    "services": "status error_code errorCode exit_code status_text statusText user_status userState state type event msg level levelname"
    " class_name eventName module method HTTPStatus host_ok file_error isValid errno errmsg loglevel",
}


def said_of(key: str) -> bool:
    """Return whether the pattern finds a value of this key, as the masks look for it."""
    (masked,) = as_texts(regex.replace_matches(string_column([f"a {key}=b"]), f"({VARYING_KEYS}=)b", r"\1"))
    return masked == f"a {key}="


@pytest.mark.parametrize("key", sorted({key for keys in GO.values() for key in keys.split()}))
def test_values_of_keys_that_name_one_of_many_go(key: str) -> None:
    assert varies(key) is True


@pytest.mark.parametrize("key", sorted({key for keys in STAY.values() for key in keys.split()}))
def test_values_of_keys_that_say_what_happened_stay(key: str) -> None:
    assert varies(key) is False
    assert not said_of(key)


@pytest.mark.parametrize(
    "key",
    ["name", "at", "from", "to", "paid", "void", "android", "platform", "grid", "bat", "timeouts", "", "=", "é", "12", "id_" * 99],
)
def test_nothing_is_said_of_other_keys(key: str) -> None:
    assert varies(key) is None
    assert not said_of(key)


@pytest.mark.parametrize(
    "key", ["rhost", "user_id", "userId", "requestID", "src-ip", "host.name", "latency_ms", "elapsedMs", "UID", "sha256", "widgetId"]
)
def test_the_pattern_finds_the_values_of_varying_keys(key: str) -> None:
    assert said_of(key)


WORDS = st.sampled_from(
    ["user", "id", "status", "code", "name", "host", "error", "path", "time", "ms", "size", "type", "at", "ip", "x", "src", "event"]
)


@settings(deadline=None, max_examples=300)
@given(words=st.lists(WORDS, min_size=1, max_size=4))
@example(words=["id", "name"])
@example(words=["status", "at"])
def test_one_key_is_of_one_class_in_every_case(words: list[str]) -> None:
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    classes = {varies(key) for key in ("_".join(words), "-".join(words), ".".join(words), "_".join(words).upper(), camel)}
    assert len(classes) == 1


@settings(deadline=None, max_examples=300)
@given(words=st.lists(WORDS, min_size=1, max_size=4), separator=st.sampled_from(["_", ".", "-", ""]))
@example(words=["user", "status"], separator="")
def test_the_pattern_never_contradicts_the_classes(words: list[str], separator: str) -> None:
    key = separator.join(words) if separator else words[0] + "".join(word.capitalize() for word in words[1:])
    assert varies(key) or not said_of(key)
