"""Every verb explains itself, quickly."""

import subprocess
import sys

import pytest

from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import ROOT, vectail
from worker.runtime.process import vectail_version

VERBS = (
    *("demo", "run", "serve", "peek", "feed", "search", "lag", "offsets show", "offsets reset", "dlq ls", "dlq show", "dlq replay"),
    *("verify", "compact", "reindex", "templates", "counts", "masks list", "masks diff", "doctor", "estimate", "mcp", "topics init"),
    *("config check", "config show", "model prepare", "model show", "model check", "version"),
)
OPTIONS: dict[str, tuple[str, ...]] = {
    "demo": ("FILE", "--query", "--data", "--json", "--serve", "--engine", "-k"),
    "run": ("--config", "--adopt", "--from", "--workers"),
    "feed": ("FILE", "--topic", "--rate", "--bootstrap-servers", "--config"),
    "search": ("TEXT", "--mode", "--as", "--per-template", "--since", "--field", "--not-field", "--around", "-C", "--timeout", "--json"),
    "counts": ("TEXT", "--by", "--buckets", "--top", "--not-family", "--timeout"),
    "reindex": ("--to", "--status", "--rollback", "--drop", "--accept", "--no-wait", "--json"),
    "offsets reset": ("--to", "--topic", "--partition", "--yes"),
}
"""Of these, what the documentation begins with; a test of the verb itself uses each of the others."""

GROUPS: tuple[tuple[str, ...], ...] = ((), ("offsets",), ("dlq",), ("topics",), ("config",), ("masks",), ("model",))


def test_the_program_names_every_verb_and_the_exit_codes() -> None:
    ended = vectail("--help")

    assert (ended.exit_code, ended.err) == (0, "")
    listed = [line.split()[0] for line in ended.out.partition("Commands:\n")[2].splitlines()]
    assert listed == list(dict.fromkeys(verb.split()[0] for verb in VERBS))
    for meaning in ("0 done", "1 something", "2 something", "3 `run`", "130 "):
        assert meaning in ended.out


def test_a_verb_explains_itself_and_its_options(run_here: RunHere, subtests: pytest.Subtests) -> None:
    for verb in VERBS:
        with subtests.test(verb):
            ended = run_here(*verb.split(), "--help")

            assert (ended.exit_code, ended.err) == (0, "")
            assert run_here(*verb.split(), "-h") == ended
            assert ended.out.startswith(f"Usage: vectail {verb} ")
            for name in OPTIONS.get(verb, ()):
                assert name in ended.out


def test_the_usual_short_options_are_those_of_the_program(run_here: RunHere) -> None:
    assert run_here("-h") == run_here("--help")
    assert run_here("--version") == run_here("-V") == (0, f"vectail {vectail_version()}\n", "")


def test_a_shell_completes_verbs_and_options_once_it_is_told_how(run_here: RunHere) -> None:
    assert "complete -o default -F _vectail_completion vectail" in run_here("--show-completion", "bash").out
    for typed, offered in (("vectail sear", "search"), ("vectail dlq sh", "show"), ("vectail lag --wat", "--watch")):
        asked = {"_VECTAIL_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
        assert offered in vectail(env=asked).out.split()


def test_dlq_list_is_dlq_ls(run_here: RunHere) -> None:
    assert run_here("dlq", "list", "--help").out == run_here("dlq", "ls", "--help").out.replace("dlq ls [", "dlq list [")
    assert "list " not in run_here("dlq", "--help").out.partition("Commands:")[2]


def test_since_has_one_default_and_the_help_says_it(run_here: RunHere) -> None:
    for verb in ("search", "templates", "counts"):
        said = " ".join(run_here(verb, "--help").out.split())
        assert "--since WHEN Only lines of the last 90s, 15m, 1h, 7d, since a time, or all. [default: all]" in said


def test_no_summary_in_the_list_of_verbs_is_cut_off(run_here: RunHere) -> None:
    for words in GROUPS:
        assert "..." not in run_here(*words, "--help").out.partition("Commands:")[2]


def test_without_a_verb_the_help_is_shown(run_here: RunHere, subtests: pytest.Subtests) -> None:
    for words in GROUPS:
        with subtests.test(" ".join(words)):
            ended = run_here(*words)

            assert (ended.exit_code, ended.out) == (2, "")
            assert ended.err.startswith("Usage: vectail ")


@pytest.mark.parametrize(
    ("lines", "libraries"),
    [
        (
            [verb and f"{verb} --help" for verb in ("", *VERBS)],
            "confluent_kafka pymilvus milvus_lite pyarrow llama_cpp numpy rich structlog",
        ),
        (["--version", "version"], "pymilvus milvus_lite pyarrow llama_cpp numpy"),
    ],
    ids=["help", "version"],
)
def test_help_and_version_load_no_large_library(lines: list[str], libraries: str) -> None:
    look = (
        "import sys; from worker.cli.app import run_app\n"
        "for line in sys.argv[2:]: sys.argv[1:] = line.split() or ['--help']; assert run_app() == 0\n"
        "print(sorted(set(sys.orig_argv[3].split()) & set(sys.modules)))"
    )
    child = subprocess.run(
        [sys.executable, "-c", look, libraries, *lines], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (child.returncode, child.stderr) == (0, "")
    assert child.stdout.endswith("\n[]\n")
