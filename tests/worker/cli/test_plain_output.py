"""Where the output is no terminal, a row is one line that `grep` finds whole; NO_COLOR leaves no style on a terminal."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.worker.cli.conftest import NewScreen
from tests.worker.cli.console import ROOT, environment, vectail
from worker.cli.counts_screen import show_counts
from worker.cli.screen import Screen
from worker.cli.search_screen import show_hits, show_templates

LONG = f"disk full{' on /dev/sda1' * 60}\n  at the end of it "
"""Longer than a terminal shows of a line, of two lines, and with a blank at its end."""
ON_ONE_LINE = LONG.replace("\n", r"\n").rstrip()
ID = "0123456789abcdef"
ROWS = 2
PLACE: dict[str, Any] = {"topic": "logs", "partition": 1, "offset": 250, "sub": 0, "chunk": 0}
STANDS_FOR: dict[str, Any] = {"name": "no space", "family": ID, "family_templates": 3, "family_lines": 7}
SAID: dict[str, Any] = {"score": 0.3, "text": LONG, "template": ID * 2, "time": 0, "service": "checkout-api", "level": "ERROR"}
HIT = SAID | PLACE | STANDS_FOR
FIELDS = {"trace_id": "t-1", "note": "x" * 300}
FAMILY = {"family": ID, "text": "", "example": LONG, "lines": 7, "first": 0, "last": 1, "templates": 3, "name": "no space"}
COUNT = {"family": ID, "text": LONG, "name": "no space", "level": "WARN", "lines": 7}
ANSWER: dict[str, Any] = {"text": "disk", "mode": "dense", "seconds": 0.1, "complete": True}

Shown = Callable[[Screen], None]
SHOWN: Mapping[str, Shown] = {
    "hits": lambda screen: show_hits(screen, ANSWER | {"hits": [HIT] * ROWS}),
    "fields": lambda screen: show_hits(screen, ANSWER | {"hits": [HIT | {"fields": FIELDS}] * ROWS}),
    "templates": lambda screen: show_templates(screen, ANSWER | {"templates": [FAMILY] * ROWS}),
    "counts": lambda screen: show_counts(screen, ANSWER | {"by": ["family", "level"], "counts": [COUNT] * ROWS}),
}


@pytest.mark.parametrize("show", SHOWN.values(), ids=SHOWN)
def test_a_row_is_one_line_and_nothing_is_cut(new_screen: NewScreen, show: Shown) -> None:
    screen, written = new_screen(80)
    show(screen)
    lines = written.getvalue().splitlines()
    rows = [line for line in lines if ON_ONE_LINE in line]
    assert len(rows) == ROWS
    assert all("no space" in row for row in rows), "what a terminal shows in lines of its own"
    assert [line for line in lines if line != line.rstrip()] == []
    assert "─" not in written.getvalue()
    assert "…" not in written.getvalue()


def test_all_of_the_kept_fields_and_the_place_stand_in_the_row(new_screen: NewScreen) -> None:
    screen, written = new_screen(80)
    SHOWN["fields"](screen)
    *_, row = written.getvalue().splitlines()
    for part in (f"trace_id=t-1  note={'x' * 300}", "checkout-api", "ERROR", "logs/1@250", f"family {ID}"):
        assert part in row


def test_on_a_terminal_a_row_still_wraps(new_terminal: NewScreen) -> None:
    screen, written = new_terminal(80)
    SHOWN["hits"](screen)
    assert max(map(len, written.getvalue().splitlines())) <= 80
    assert "─" in written.getvalue()
    assert "…" in written.getvalue()


def test_peek_and_the_masks_do_not_wrap_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    text = f"payment failed{' again and again' * 40} for good"
    file.write_text(f"2026-11-27T10:00:00Z ERROR {text}\n")
    peeked = vectail("peek", str(file)).out.splitlines()
    assert sum(line.startswith("  text ") and line.endswith(text) for line in peeked) == 1
    assert sum(line.startswith("Of 1 entry: ") and line.endswith(").") for line in peeked) == 1
    masks = vectail("masks", "list").out
    assert "─" not in masks
    assert [line for line in masks.splitlines() if line.startswith(" ")] == []


def on_terminal(*words: str, env: Mapping[str, str]) -> str:
    """Return what a verb writes to a terminal."""
    ours, its = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "worker", *words], cwd=ROOT, env=environment(env), stdin=its, stdout=its, stderr=its, start_new_session=True
    )
    os.close(its)
    written = b""
    try:
        for chunk in iter(partial(os.read, ours, 65_536), b""):
            written += chunk
    except OSError:  # how Linux says that the child has closed its end
        pass
    finally:
        os.close(ours)
    assert child.wait(60) == 0
    return written.decode()


def test_with_no_color_a_terminal_gets_no_styles() -> None:
    styled = on_terminal("masks", "list", env={"TERM": "xterm", "NO_COLOR": ""})
    assert "\x1b[1m" in styled or "\x1b[36m" in styled
    assert "\x1b" not in on_terminal("masks", "list", env={"TERM": "xterm", "NO_COLOR": "1"})
