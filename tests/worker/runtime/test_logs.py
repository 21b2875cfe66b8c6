"""What the log contains, how often, and in which format."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from worker.runtime.logs import REPEAT_S, RateLimitedLog, configure_logs, inform, rate_limited_log

ROOT = Path(__file__).parents[3]
STANDS_S = 20.0
"""Far less than a thousand lines would take if each waited for the reader."""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _own_logs() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.fixture
def announced() -> list[str]:
    return []


def at(moments_s: list[float]) -> Iterator[float]:
    return iter(moments_s)


def test_a_line_is_said_once_and_again_after_a_minute(announced: list[str]) -> None:
    moments = at([0.0, 1.0, REPEAT_S - 0.1, REPEAT_S, REPEAT_S + 1, 2 * REPEAT_S])
    one = RateLimitedLog(announced.append, clock=lambda: next(moments))
    counts = []
    for _ in range(6):
        one.warn("kafka is away")
        counts.append(len(announced))
    assert counts == [1, 1, 1, 2, 2, 3]


def test_what_was_said_is_remembered_within_bounds(announced: list[str]) -> None:
    one = RateLimitedLog(announced.append, clock=lambda: 0.0)
    for number in range(5_000):
        one.warn(f"line {number}")
    one.warn("line 4999")
    one.warn("line 0")
    assert len(announced) == 5_001
    assert announced[-1] == "line 0"


@pytest.mark.parametrize("line", ["two\nlines", "a \x1b[31mcolour", "bell\x07", "nul\x00", "right to left \u202e"])
def test_control_characters_are_escaped(announced: list[str], line: str) -> None:
    RateLimitedLog(announced.append).warn(f"{line} Größe 日志")
    assert announced[0].endswith(" Größe 日志")
    announced[0] = announced[0].removesuffix(" Größe 日志")
    assert announced[0].isprintable()
    assert announced[0].encode().decode("unicode_escape") == line


@pytest.mark.parametrize("quiet", [False, True])
def test_a_machine_gets_json_on_standard_error_and_warnings_only_if_it_is_to_be_quiet(
    monkeypatch: pytest.MonkeyPatch, *, quiet: bool
) -> None:
    error = io.StringIO()
    monkeypatch.setattr(sys, "stderr", error)
    configure_logs(quiet=quiet)
    inform("starting", topics=["logs"])
    rate_limited_log().warn("the sink is away")
    lines = [json.loads(line) for line in error.getvalue().splitlines()]
    told = [(line["level"], line["event"], line.get("topics")) for line in lines]
    assert told == [("info", "starting", ["logs"])] * (not quiet) + [("warning", "the sink is away", None)]
    assert lines[0]["timestamp"].endswith("Z")


SPEAKER = """
import faulthandler, sys, threading
from worker.runtime.logs import rate_limited_log, configure_logs, non_blocking_stderr, inform, report_crash
sys.stderr = non_blocking_stderr()
configure_logs()
say = rate_limited_log().warn
for number in range(1_000):
    inform("an event", number=number)
    say(f"line {number}")
report_crash(ValueError("planted"))
faulthandler.dump_traceback(sys.stderr)
print("neither logged nor caught: \\udc80", file=sys.stderr)
thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()
print("done")
"""


def speak(*prefix: str, stderr: int | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a program that writes a lot to standard error."""
    command = [*prefix, sys.executable, "-c", SPEAKER]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=stderr, text=True, timeout=60, check=False)


@pytest.mark.process
@pytest.mark.parametrize("target", [">&-", "> /dev/full", "> >(true)"], ids=["closed", "full disk", "read by nobody"])
def test_a_log_that_cannot_be_written_ends_nothing(target: str) -> None:
    """A closed file descriptor 2 must not become a file or a connection, which would then receive the log."""
    ended = speak("/bin/bash", "-c", f'exec "$@" 2{target}', "bash")
    assert (ended.returncode, ended.stdout) == (0, "done\n")


STANDING = """
import sys, time
from worker.runtime.logs import configure_logs, non_blocking_stderr, inform
sys.stderr = non_blocking_stderr()
configure_logs()
began_s = time.monotonic()
for number in range(1_000):
    inform("an event", number=number, why="x" * 100)
print(time.monotonic() - began_s, flush=True)
sys.stdin.readline()
inform("the last")
"""


@pytest.mark.process
def test_a_log_whose_reader_stands_still_stops_nothing_and_then_says_how_many_lines_are_missing() -> None:
    command = [sys.executable, "-c", STANDING]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as speaker:
        assert speaker.stdin is not None
        assert speaker.stdout is not None
        assert speaker.stderr is not None
        took_s = float(speaker.stdout.readline())
        room = os.read(speaker.stderr.fileno(), 60_000)
        speaker.stdin.write(b"\n")
        speaker.stdin.flush()
        lines = [json.loads(line) for line in (room + speaker.stderr.read()).splitlines() if line.endswith(b"}")]
    assert speaker.returncode == 0
    *whole, missing, last = lines
    assert [line["number"] for line in whole] == list(range(len(whole)))
    assert missing == {"event": "lines of this log are missing here", "lines": 1_000 - len(whole), "level": "warning"}
    assert last["event"] == "the last"
    assert took_s < STANDS_S


@pytest.mark.process
def test_a_log_that_is_read_has_every_line() -> None:
    ended = speak(stderr=subprocess.PIPE)
    assert ended.returncode == 0
    events = [json.loads(line) for line in ended.stderr.splitlines() if line.startswith("{")]
    assert [event["number"] for event in events if event["event"] == "an event"] == list(range(1_000))
    assert "ValueError: planted" in events[-1]["traceback"]
    assert "neither logged nor caught: \\udc80" in ended.stderr
    assert "ZeroDivisionError" in ended.stderr


def test_on_a_terminal_no_character_moves_the_cursor_and_a_traceback_keeps_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    configure_logs()
    inform("starting", topic="a\x1b[2Jb\rc\u202ed", text="one\ntwo")
    shown = terminal.getvalue()
    assert "\\x1b[2Jb\\rc\\u202ed" in shown
    assert "\x1b[2J" not in shown
    assert "\r" not in shown
