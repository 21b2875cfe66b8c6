"""Runs one benchmark as a child process and says what became of it: figures, absent, or failed with a reason.

Absent is only what a missing program, library, server, card or folder explains. Everything else that ends without figures has failed, a
benchmark whose sides did different work above all. On a timeout or an interrupt, what the benchmark started in its session ends with it;
sides and servers with sessions of their own end with their standard input.
"""

import ast
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from benchmarks.suite.programs import Program

_ABSENT = re.compile(
    r"not installed|(no|needs an) NVIDIA GPU|no Docker daemon|could not (be )?fetch"
    # A broken import of our own is a failure.
    r"|No module named '(?!(benchmarks|consumers|producers|sinks|tests|worker)[.'])",
    re.IGNORECASE,
)
_REASON_CHARACTERS = 300


class Ended(NamedTuple):
    """What became of a program."""

    state: Literal["measured", "absent", "failed"]
    figures: dict[str, Any]
    """What it printed; empty unless it was measured."""
    reason: str
    """One line; empty if it was measured."""
    seconds: float


def module_file(root: Path, module: str) -> Path | None:
    """Return the file that `python -m MODULE` runs below `root`; None if there is none."""
    path = root.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__main__.py")
    return next((file for file in files if file.is_file()), None)


def docstring_of(root: Path, module: str) -> tuple[str, str]:
    """Return the first line of a program's docstring, and the paragraph that begins with "Caveats first."; empty if there is none."""
    file = module_file(root, module)
    text = (file and ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))) or ""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    caveats = next((one for one in paragraphs if one.startswith("Caveats first.")), "")
    return text.partition("\n")[0], caveats.removeprefix("Caveats first. ")


def missing(program: Program, root: Path, logs: Path | None) -> str:
    """Return why a program cannot be asked at all, or nothing."""
    if module_file(root, program.module) is None:
        return f"there is no {program.module}"
    if program.needs == "logs" and logs is None:
        return "no labelled logs: --logs DIR names them"
    if program.needs == "gpu" and shutil.which("nvidia-smi") is None:
        return "no NVIDIA GPU"
    return ""


def run_program(program: Program, arguments: Sequence[str], root: Path) -> Ended:
    """Run `python -m MODULE ARGUMENTS` in `root`; if it prints its own name under `absent`, it could not run here."""
    began_s = time.monotonic()
    child = subprocess.Popen(  # noqa: S603 - a module of ours
        [sys.executable, "-m", program.module, *arguments],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=program.limit_s)
    except subprocess.TimeoutExpired:
        _end_all(child)
        child.communicate()
        return Ended("failed", {}, f"it was not done after {program.limit_s:g} s", time.monotonic() - began_s)
    except BaseException:
        _end_all(child)
        raise
    seconds = time.monotonic() - began_s
    figures = _object_in(out)
    if child.returncode == 0 and figures is not None:
        absent = figures.get("absent")
        if isinstance(absent, dict) and program.name in absent:
            return Ended("absent", {}, str(absent[program.name]), seconds)
        return Ended("measured", figures, "", seconds)
    reason = _last_line(err) or _last_line(out) or f"exit code {child.returncode}"
    if child.returncode == 0:
        return Ended("failed", {}, f"it printed no figures: {reason}", seconds)
    return Ended("absent" if _ABSENT.search(reason) else "failed", {}, reason, seconds)


def _end_all(child: subprocess.Popen[str]) -> None:
    """End the child and all that it has started: a server that outlives its benchmark takes time from the next one."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _object_in(out: str) -> dict[str, Any] | None:
    """Return the object in the last line, if that is one."""
    try:
        found = json.loads(_last_line(out, most=None))
    except json.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _last_line(text: str, *, most: int | None = _REASON_CHARACTERS) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:most] if lines else ""
