"""What a stranger wrote is shown on a terminal and never interpreted, whichever verb prints it, as text or as JSON."""

import ast
import io
import json
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from tests.worker.cli.conftest import NewScreen, RunHere
from worker.cli.output import facts_text, is_confirmed, print_json, print_text
from worker.cli.screen import Screen, TableColumn
from worker.cli.screen_tables import Column
from worker.cli.toml import toml_of

CLI = Path(__file__).parents[3] / "worker" / "cli"
HOSTILE = "\x1b]0;title\x07\x1b[2J \r \x7f \x9b5m \x85 \u202e \u2066 \u200f \u061c \ufeff \u2028 \U000e0041 é 日志"
"""Controls of C0 and C1, DEL, marks that turn the direction, line ends that are none of ours, a tag; and letters, which stay."""
WRITERS = {
    "app.py": ["typer.echo", "typer.echo"],
    "dlq_commands.py": ["sys.stdout.buffer.write"],
    "mcp.py": ["sys.stderr.write"],
    "output.py": ["sys.stderr.write", "sys.stdout.write", "typer.confirm"],
    "screen.py": ["Console", "Console"],
}
"""Who writes to a terminal, and how: all of it goes through the functions below, but a constant and what `--raw` asks for."""
WAYS_TO_WRITE = ("print", "Console", "typer.echo", "typer.secho", "typer.confirm", "typer.prompt", "sys.stdout", "sys.stderr")


def is_harmless(written: str) -> bool:
    return all(one.isprintable() or one == "\n" for one in written) and "日志" in written


def write_table(screen: Screen) -> None:
    screen.table([TableColumn(HOSTILE), TableColumn("", is_wide=True)], [[[("a", "")], [(HOSTILE, "red"), ("\n", ""), (HOSTILE, "")]]])


def write_rows(screen: Screen) -> None:
    screen.rows([{"a": HOSTILE}], [Column(HOSTILE, "a")])


def write_live(screen: Screen) -> None:
    with screen.live_lines() as show:
        show([[(HOSTILE, "")]])


@pytest.mark.parametrize(
    "write",
    [
        lambda screen: screen.say(HOSTILE),
        lambda screen: screen.write(("a ", "bold"), (HOSTILE, "red")),
        lambda screen: screen.say_always(HOSTILE),
        write_table,
        write_rows,
        write_live,
    ],
    ids=["say", "write", "say_always", "table", "rows", "live_lines"],
)
def test_a_screen_escapes_whatever_it_is_given(new_screen: NewScreen, write: Callable[[Screen], None]) -> None:
    screen, written = new_screen(200)
    write(screen)
    assert is_harmless(written.getvalue())
    assert r"\x1b]0;title\x07" in written.getvalue()


def test_on_a_terminal_there_are_our_own_styles_and_no_others() -> None:
    written = io.StringIO()
    screen = Screen(console=Console(file=written, width=400, force_terminal=True, color_system="standard"))
    screen.write((HOSTILE, "red"))
    assert written.getvalue().startswith("\x1b[31m")
    assert is_harmless(written.getvalue().replace("\x1b[31m", "").replace("\x1b[0m", ""))


def test_a_warning_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Screen(silent=True).warn(f"{HOSTILE}\nmore")
    err = capsys.readouterr().err
    assert is_harmless(err)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "print_it", [print_text, lambda text: print_text(facts_text({text: text, "b": text}))], ids=["print_text", "facts_text"]
)
def test_plain_text_is_escaped(capsys: pytest.CaptureFixture[str], print_it: Callable[[str], None]) -> None:
    print_it(HOSTILE)
    assert is_harmless(capsys.readouterr().out)


def test_json_is_escaped_as_json_is_and_reads_back_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    document = {HOSTILE: [HOSTILE, {"lone": "\ud800", "line": "a\nb"}]}
    print_json(document)
    out = capsys.readouterr().out
    assert is_harmless(out)
    assert out.count("\n") == 1
    assert json.loads(out) == document


def test_settings_are_escaped_as_toml_is_and_read_back_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"query": {HOSTILE: HOSTILE}, "topic": [{"name": "a\nb\tc"}]}
    print_text(toml_of(document))
    out = capsys.readouterr().out
    assert is_harmless(out)
    assert tomllib.loads(out) == document


def test_without_a_terminal_the_answer_to_a_question_is_no() -> None:
    assert not is_confirmed("Change it?")


def ways_to_write(source: str) -> list[str]:
    """Return the calls in a module that write to a terminal."""
    names = [ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [name for name in names if name in WAYS_TO_WRITE or (name.endswith((".write", ".writelines")) and name.startswith("sys.std"))]


def test_no_verb_writes_past_these_functions() -> None:
    writers = {file.name: ways_to_write(file.read_text(encoding="utf-8")) for file in CLI.glob("*.py")}
    assert {name: sorted(found) for name, found in writers.items() if found} == {name: sorted(ways) for name, ways in WRITERS.items()}


@pytest.fixture
def hostile_file(tmp_path: Path) -> Path:
    file = tmp_path / f"{HOSTILE}.log"
    plain = HOSTILE.replace("\u2028", "").replace("\r", "")
    named = {"message": plain, "service": plain, "level": plain, "user": plain, f"k{plain}": "v"}
    lines = [plain, json.dumps(named, ensure_ascii=False), f"2026-11-27T10:00:00Z ERROR {plain}: failed"]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "words",
    [
        ["peek", "FILE"],
        ["peek", "FILE", "--json"],
        ["templates", "--suggest", "FILE"],
        ["templates", "--suggest", "FILE", "--json"],
        ["estimate", f"no-such-file{HOSTILE}"],
        ["config", "check", "--config", f"no-such-file{HOSTILE}"],
        [f"no-such-verb{HOSTILE}"],
        ["search", "x", "--since", HOSTILE],
    ],
    ids=lambda words: " ".join(words).replace(HOSTILE, "…"),
)
def test_a_verb_prints_nothing_that_a_terminal_interprets(run_here: RunHere, hostile_file: Path, words: Sequence[str]) -> None:
    ended = run_here(*(str(hostile_file) if word == "FILE" else word for word in words))
    assert is_harmless(ended.out + ended.err)
