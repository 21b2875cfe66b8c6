"""The masks of words: what goes of a line as programs print it, and, as important, what stays.

`tests/properties/test_mask.py` tests any text.
"""

import re
from typing import NamedTuple

import pytest

from consumers.text.mask import Masker
from consumers.text.word_patterns import WORD_MASKS


class Example(NamedTuple):
    """A line, words of it that go, and parts of it that stay."""

    line: str
    gone: tuple[str, ...]
    kept: tuple[str, ...]


ACCESS = "192.0.2.14 - - [12/Jan/2026:03:04:05 +0000] "
PAM = "pam_unix(sudo:session): session opened for user root(uid=0) by carol(uid=1000)"
KLOG = 'E0112 03:04:05.678901    4711 kubelet.go:1711] "Failed creating a mirror pod" err="not found" pod="kube-system/etcd-node-1"'

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "request": (
        Example(
            f'{ACCESS}"GET /shop/items/42?size=xl HTTP/1.1" 503 1734 "-" "curl/8"', ("size", "xl"), ('"GET /shop/items HTTP/" 503', "curl")
        ),
        Example(f'{ACCESS}"POST /shop/cart/old/x.html HTTP/2.0" 404 12', ("old", "html"), ('"POST /shop/cart HTTP/" 404',)),
        Example(
            "DELETE /v2/54fadb412c4e40cdbaed9335e4c35a9e/servers/17/detail?limit=3 HTTP/1.1",
            ("limit", "v"),
            ("DELETE /servers/detail HTTP/",),
        ),
        Example("GET /shop/items/42/parts 304 1.234 ms - -", ("parts",), ("GET /shop/items",)),
        Example('"GET https://shop.example/shop/items/42?x=1 HTTP/1.1" 200', ("https", "example"), ('"GET /shop/items HTTP/" 200',)),
        Example(
            '[GIN] 2026/01/12 - 03:04:05 | 404 | 12.5\u00b5s | 192.0.2.14 | GET      "/shop/items/42/parts"',
            ("parts",),
            ('GET "/shop/items"',),
        ),
    ),
    "url": (
        Example(
            "fetching https://repo.example/maven/org/acme/app/1.2/app-1.2.pom failed",
            ("repo", "example", "acme"),
            ("fetching https:/maven/org failed",),
        ),
        Example("see http://gw:8080/login?next=/home.", ("gw", "next", "home"), ("see http:/login",)),
        Example("jdbc:postgresql://db:5432/orders refused", ("db", "orders"), ("jdbc:postgresql:", "refused")),
        Example("(https://a.example/help) and <https://b.example/help>", ("example",), ("(https:/help) and <https:/help>",)),
        Example("amqp://queue/orders, retrying", ("queue", "orders"), ("amqp:", ", retrying")),
        Example("https://\u00e9.example/\u00e9/x?\u00e9=1 answered", ("\u00e9", "example"), ("https:", "answered")),
    ),
    "hostname": (
        Example("connect to db.prod.example.com:5432 failed", ("db", "prod", "com"), ("connect to", "failed")),
        Example(
            "resolving kafka-0.kafka.default.svc.cluster.local: no such host", ("kafka", "svc", "local"), ("resolving", "no such host")
        ),
        Example("router.lan, printer.local and www.acme.co.uk answered", ("router", "lan", "printer", "acme", "uk"), ("and", "answered")),
    ),
    "user": (
        Example("Invalid user carol from 192.0.2.14 port 40022", ("carol",), ("Invalid user", "from", "port")),
        Example(
            "Connection closed by invalid user carol 192.0.2.14 port 40022 [preauth]", ("carol",), ("closed by invalid user", "[preauth]")
        ),
        Example(
            "input_userauth_request: invalid user \u00e9\u4e2d [preauth]",
            ("\u00e9\u4e2d",),
            ("input_userauth_request: invalid user", "[preauth]"),
        ),
    ),
    "login": (
        Example("Failed password for carol from 192.0.2.14 port 40022 ssh2", ("carol",), ("Failed password for", "from")),
        Example("Accepted publickey for carol from 192.0.2.14 port 40022 ssh2: RSA", ("carol",), ("Accepted publickey for", "from", "RSA")),
    ),
    "session": (
        Example(PAM, ("root",), ("pam_unix(sudo:session): session opened for", "user", "uid=")),
        Example("pam_unix(cron:session): session closed for user root", ("root",), ("session closed for", "user")),
        Example("Authentication for user carol succeeded", ("carol",), ("Authentication for", "user", "succeeded")),
        Example("quota for user carol exceeded on volume data", ("carol",), ("quota for", "user", "exceeded on volume data")),
        Example('FATAL:  password authentication failed for user "orders"', ("orders",), ("FATAL: password authentication failed for",)),
    ),
    "account": (
        Example("account of carol locked after 3 failed logins", ("carol",), ("account of", "locked after", "failed logins")),
        Example("refused: no account named carol, attempt 4", ("carol",), ("refused: no account named", ", attempt")),
    ),
    "value": (
        Example(
            "authentication failure; logname= uid=0 tty=ssh ruser= rhost=gw  user=root", ("gw", "root"), ("failure", "rhost=", "user=")
        ),
        Example(
            "level=error msg=\"cannot connect\" host=db path='/a b' err=refused",
            ("db", "/a", "b'"),
            ('level=error msg="cannot connect" host=', "err=refused"),
        ),
        Example(
            "user_status=active status_user=carol sessionId=abcdef userName=dave",
            ("carol", "abcdef", "dave"),
            ("user_status=active", "userName="),
        ),
        Example("user=carol, host=gw; file=x.txt) done", ("carol", "gw", "txt"), ("user=,", "host=;", "file=)", "done")),
        Example("user=\u00e9\u4e2d done", ("\u00e9\u4e2d",), ("user= done",)),
        Example(KLOG, ("kube", "etcd"), ('kubelet.go:] "Failed creating a mirror pod" err="not found" pod=',)),
    ),
    "quoted": (
        Example(
            'ERROR:  relation "orders" does not exist at character 15', ("orders",), ("ERROR: relation", "does not exist at character")
        ),
        Example(
            'ERROR:  column "total" of relation "orders" does not exist', ("total", "orders"), ("column", "of relation", "does not exist")
        ),
        Example("open file 'a b.txt' failed", ("b.txt",), ("open file", "failed")),
        Example('Back-off restarting failed container "app" in pod "web"', ("app", "web"), ("restarting failed container", "in pod")),
    ),
    "path": (
        Example("opened /home/carol/notes/today.txt for writing", ("home", "carol", "notes", "today"), ("opened", "for writing")),
        Example("opened /var/log/nginx/access.log for writing", ("nginx", "access"), ("opened", "for writing")),
        Example("classpath /opt/app/lib/a.jar:/opt/app/lib/b.jar:/opt/app/lib/c.jar", ("opt", "jar"), ("classpath",)),
        Example("removed ~/notes/old/today.txt", ("notes", "old", "today"), ("removed",)),
        Example("opened /\u00e9/\u4e2d/notes done", ("\u00e9", "\u4e2d", "notes"), ("opened", "done")),
    ),
    "stamped": (Example("[2026-01-12_03.04.05]-report.xml was saved", ("report", "xml"), ("was saved",)),),
    "drive": (
        Example(r"C:\Users\carol\AppData\x.log is locked", ("Users", "carol", "log"), ("is locked",)),
        Example(r"Faulting module path: C:\Windows\System32\ntdll.dll", ("Windows", "dll"), ("Faulting module path:",)),
    ),
    "hidden": (Example("opened with secret **** and pin *****", ("*",), ("opened with secret", "and pin")),),
    "brackets": (Example("wrote 18846 bytes (18.4 KB) to disk", ("(", ")"), ("wrote bytes to disk",)),),
    "list": (
        Example("blk_1 blk_2 blk_3 blk_4 deleted", ("blk blk",), ("blk deleted",)),
        Example("replica gone replica gone replica gone", ("gone replica",), ("replica gone",)),
    ),
}
"""By the mask that matters in them."""

STAYS = (
    # names of classes, files, functions and settings
    "java.net.ConnectException: Connection refused",
    "org.apache.foo.Bar: started",
    "com.acme.Main started",
    "dfs.DataNode$PacketResponder: terminating",
    "mapred.task.id is deprecated, use mapreduce.task.id",
    "main.py failed in setup.sh, run.pl and lib.so",
    "app.module.ts and index.tsx",
    "std::vector<int> // comment",
    "e.g. this, i.e. that",
    # what happened
    "upstream answered code 503, E1234 and ORA-00942",
    "status=failed reason=timeout level=warn state=CLOSED method=GET",
    'error="disk full" msg="cannot connect" err="connection refused"',
    "user != carol",
    # quotation marks that name nothing
    'tag="View Lock" was seen',
    'he said "quoted words" twice',
    'Error: unknown command "instal" for "helm"',
    'said "yes" "no"',
    "don't say 'it' or it's over",
    # paths of one segment and two, and what is none
    "/etc/hosts is missing",
    "/bin/sh: foo: not found",
    "read a/b and/or c/d, I/O over TCP/IP",
    "input/output error",
    # no user is named
    "Invalid user name",
    "pam_unix(sshd:auth): check pass; user unknown",
    # words that look like requests
    "PUT the cover on",
    "GET lost",
    "HEAD of the queue",
    # brackets with something in them
    "args [a, b] and g(x) {a} <b>",
    "mounted with ordered data mode. Opts: (null)",
    "C++ a->b x=y;",
    # no word is repeated at once
    "one two three one two",
    "käse 語 \U0001f701 \x00 x",
)
"""Lines that no mask changes."""

ALIKE = (
    ('relation "orders" does not exist', 'relation "line items" does not exist'),
    ("Invalid user carol from 192.0.2.14", "Invalid user admin from 198.51.100.7"),
    ("pod=default/a-1 host=db.example.com err=gone", "pod=kube-system/b-2 host=10.0.0.7 err=gone"),
    ("opened /home/carol/a/b.txt", "opened /home/dave/c/d/e/f.txt"),
    ("blk_1 blk_2 deleted", "blk_1 blk_2 blk_3 deleted"),
    ('"GET /shop/items/42 HTTP/1.1" 200', '"GET /shop/items/7?size=xl HTTP/1.1" 200'),
    ("connect to db.prod.example.com:5432 failed", "connect to www.example.co.uk:80 failed"),
)
APART = (
    ("java.net.ConnectException: refused", "java.net.SocketTimeoutException: refused"),
    ("status=failed user=carol", "status=done user=carol"),
    ('"GET /shop/items HTTP/1.1" 200', '"GET /shop/items HTTP/1.1" 503'),
    ('"GET /shop/items HTTP/1.1" 200', '"GET /shop/cart HTTP/1.1" 200'),
    ('"GET /shop/items HTTP/1.1" 200', '"PUT /shop/items HTTP/1.1" 200'),
    ("Authentication for user carol failed", "Authentication for user carol succeeded"),
    ('relation "orders" does not exist', 'relation "orders" already exists'),
    ("opened /var/log/nginx/access.log", "opened /var/www/html/index.html"),
    ("E1234 at /a/b/c", "E1235 at /a/b/c"),
    ('error="disk full"', 'error="no route"'),
)
REPEATED = (
    *(
        "GET /",
        "GET /a/b?",
        "http://a/",
        "a://",
        "a.com ",
        "a.",
        "for user ",
        "of user ",
        "from user ",
        "invalid user [",
        "password for a ",
        'user="',
        "user=a ",
    ),
    *("_user", 'file "', "file 'a ", "/a/b", "/var/a ", ":/a", "[]-a.xml ", "C:\\a ", "((", "(,", '" "', "a, ", "/é"),
)
"""Repeated to hostile lines of one megabyte."""

MASKER = Masker()


def mask(text: str, masker: Masker = MASKER) -> str:
    (masked,) = masker.mask([text])
    return masked


def test_what_varies_goes_and_the_rest_of_the_line_stays(subtests: pytest.Subtests) -> None:
    for examples in EXAMPLES.values():
        for line, gone, kept in examples:
            with subtests.test(line):
                masked = mask(line)
                assert [part for part in gone if re.search(rf"(?<!\w){re.escape(part)}(?!\w)", masked)] == [], masked
                assert [part for part in kept if part not in masked] == [], masked


def test_a_line_that_says_what_happened_stays_as_it_is(subtests: pytest.Subtests) -> None:
    for line in STAYS:
        with subtests.test(line):
            assert mask(line) == line


def test_a_mask_that_is_off_is_not_applied(subtests: pytest.Subtests) -> None:
    assert set(EXAMPLES) == {mask.name for mask in WORD_MASKS}
    for name, examples in EXAMPLES.items():
        with subtests.test(name):
            lines = [one.line for one in examples]
            assert all(one != other for one, other in zip(Masker(disabled=[name]).mask(lines), MASKER.mask(lines), strict=True))


def test_lines_of_one_template_are_masked_alike(subtests: pytest.Subtests) -> None:
    for one, other in ALIKE:
        with subtests.test(one):
            assert mask(one) == mask(other)


def test_lines_of_two_templates_are_not(subtests: pytest.Subtests) -> None:
    for one, other in APART:
        with subtests.test(one):
            assert mask(one) != mask(other)


def test_a_line_is_masked_as_alone_whatever_stands_beside_it() -> None:
    lines = [one.line for examples in EXAMPLES.values() for one in examples]
    lines += ["x gw.example.com", "db.example.com()x", "user=", "carol", 'file "a', 'b" x', "(", ")", "GET", "/a/b/c", "blk", "blk", *STAYS]
    alone = [mask(line, Masker()) for line in lines]
    assert Masker().mask(lines) == alone
    assert Masker().mask(lines[::-1]) == alone[::-1]


def test_a_word_that_was_said_of_a_user_is_not_taken_for_the_user() -> None:
    line = "session opened for user carol by the system at once"
    assert mask(line) == "session opened for a user by the system at once"
    assert mask(mask(line)) == mask(line)


def test_what_masks_of_words_uncover_is_masked_too() -> None:
    assert mask("status (17)404 of it") == "status of it"
    assert mask("opened /home/carol/notes/17 (12 KB) by user=carol") == mask("opened /home/dave/notes/old/8 by user=dave")


def test_a_line_of_nothing_but_what_goes_is_not_empty(subtests: pytest.Subtests) -> None:
    for line in ("()", "[[[", ":", "/a/b/c", "db.example.com", ", ;", '""', "C:\\x", "() \u0085", "/a/b/c \u00a0", "<", "~"):
        with subtests.test(line):
            masked = mask(line)
            assert masked.strip()
            assert mask(masked) == masked


def test_a_megabyte_of_one_thing_is_masked(subtests: pytest.Subtests) -> None:
    for unit in REPEATED:
        with subtests.test(unit=unit):
            text = unit * (1_000_000 // len(unit.encode())) + "g_"
            masked = mask(text)
            assert len(masked) <= 3 * len(text)
            assert mask(masked) == masked
