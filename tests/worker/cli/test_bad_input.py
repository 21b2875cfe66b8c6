"""Every user error is one line on standard error with exit code 2, never a traceback."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from producers.kafka import EmbeddedBroker
from tests.unprivileged import unprivileged
from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import ROOT, EndedVerb, environment, in_one_line, vectail

NO_FILE = "no such file"
A_FOLDER = "this folder holds no files of lines"

BAD: list[tuple[str, str]] = [
    ("demo missing.log", NO_FILE),
    ("demo folder", A_FOLDER),
    ("demo --query=", "a query needs a text"),
    ("demo -k 0", "'-k'"),
    ("demo --data file", "--data {tmp}/file: is a file, not a folder"),
    ("demo --data /proc/vectail", "--data /proc/vectail: cannot be used"),
    ("demo --data other", "--data {tmp}/other: holds other things already"),
    ("demo --data miscounted", "does not hold a number"),
    ("demo -c broken.toml file", "broken.toml is not valid TOML"),
    ("demo -c wrong.toml file", "did you mean 'bootstrap_servers'?"),
    ("demo -c nomodel.toml file", "no model in"),
    ("feed", "give either files (`-` for standard input) or --synthetic"),
    ("feed --synthetic file", "give either files (`-` for standard input) or --synthetic"),
    ("estimate", "Missing argument 'FILE'"),
    ("estimate missing.log", NO_FILE),
    ("estimate folder", A_FOLDER),
    ("estimate file --rate 0", "--rate 0: expected lines a second like 5000, or bytes a second like 50MB/s or 1GB/s"),
    ("estimate file --sample 0", "'--sample'"),
    ("templates --since soon", "--since 'soon' is not a time: give a span such as 90s"),
    ("templates --like=", "a query needs a text"),
    ("templates -k 0", "'-k'"),
    ("feed missing.log", NO_FILE),
    ("feed folder", A_FOLDER),
    ("feed file --rate 0", "'--rate'"),
    ("feed file -c notopic.toml", "no [[topic]] has a name, only patterns; name a topic with --topic"),
    ("feed file -c badclient.toml", "No such configuration property"),
    ("search", "say what to look for"),
    ("search \u00a0", "a query needs a text"),
    ("search disk -k 0", "'-k'"),
    ("search disk -k many", "'-k'"),
    ("search disk --timeout 0", "'--timeout'"),
    ("search disk -c badclient.toml", "No such configuration property"),
    ("search disk --mode exact", "--mode"),
    ("search disk --as table", "--as"),
    ("search --around logs/0@1 -C 501", "--context"),
    ("search --around nowhere", "give topic, partition and offset"),
    ("templates --suggest file -c exact.toml", "mask.mode is exact, so no mask is applied"),
    ("peek folder", A_FOLDER),
    ("run -c missing.toml", "missing.toml cannot be read"),
    ("run -c folder", "folder cannot be read"),
    ("run -c broken.toml", "broken.toml is not valid TOML"),
    ("run -c latin1.toml", "latin1.toml is not valid TOML"),
    ("config check -c redis.toml", "redis.url is not redis://HOST:PORT/DB, "),
    ("config check -c masks.toml", "setting mask: no built-in mask is called 'dates'; the nearest name is 'date'"),
    ("config check -c rules.toml", "setting redact: there is no redaction rule 'emai'; did you mean 'email'?"),
    ("config check -c wrong.toml", "unknown setting kafka.bootstrap_server; did you mean 'bootstrap_servers'?"),
    ("config show -c wrong.toml", "did you mean 'bootstrap_servers'?"),
    ("model prepare missing", "no model in {tmp}/missing: there is no such folder"),
    ("model prepare file", "no model in {tmp}/file: it is not a folder"),
    ("model prepare folder", "no model in {tmp}/folder: config.json is missing"),
    ("model show --cache file", "the model cannot be prepared in {tmp}/file"),
    ("topics init --partitions 0", "'--partitions'"),
    ("serch disk", "No such command 'serch'. Did you mean 'search', 'serve'?"),
    ("demo --qurey x", "--query"),
    ("config chek", "Did you mean 'check'?"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that a user may name by mistake."""
    folder = tmp_path_factory.mktemp("bad")
    for name in ("folder", "other", "miscounted"):
        (folder / name).mkdir()
    (folder / "file").write_text("a line\n")
    (folder / "other" / "letters.txt").write_text("dear …")
    (folder / "miscounted" / "runs").write_text("often")
    (folder / "broken.toml").write_text("[kafka\n")
    (folder / "latin1.toml").write_bytes(b'[kafka]\ngroup = "caf\xe9"\n')
    (folder / "redis.toml").write_text('[redis]\nurl = "http://redis"\n')
    (folder / "exact.toml").write_text('[mask]\nmode = "exact"\n')
    (folder / "masks.toml").write_text('[mask]\ndisabled = ["dates"]\n')
    (folder / "rules.toml").write_text('[redact]\nrules = ["emai"]\n')
    (folder / "wrong.toml").write_text('[kafka]\nbootstrap_server = "127.0.0.1:1"\n')
    (folder / "nomodel.toml").write_text(f'[model]\nfolder = "{folder}/folder"\n')
    (folder / "notopic.toml").write_text('[[topic]]\npattern = "app"\n')
    (folder / "badclient.toml").write_text('[kafka.librdkafka]\n"no.such.thing" = "1"\n')
    return folder


def words_in(place: Path, line: str) -> list[str]:
    """Return the words of a command line; names of files in the folder become their paths."""
    return [str(place / word) if (place / word).exists() or word.startswith("missing") else word for word in line.split(" ")]


@pytest.mark.parametrize(("line", "said"), BAD, ids=[line for line, _ in BAD])
def test_it_is_refused_in_one_line(place: Path, run_here: RunHere, line: str, said: str) -> None:
    ended = run_here(*words_in(place, line))

    assert ended.exit_code == 2
    assert said.format(tmp=place) in in_one_line(ended)


@pytest.mark.parametrize("line", ["demo missing.log", "feed folder", "demo --data other", "model prepare folder", "demo --qurey x"])
def test_the_program_itself_says_no_more(place: Path, line: str) -> None:
    ended = vectail(*words_in(place, line))

    assert ended.exit_code == 2
    assert in_one_line(ended)


def test_a_worker_without_a_model_does_not_start(place: Path) -> None:
    ended = vectail("run", "-c", str(place / "nomodel.toml"))

    assert ended.exit_code == 2
    assert ended.err.endswith(f"vectail: no model in {place}/folder: config.json is missing\n")
    assert "Traceback" not in ended.err


def test_a_worker_or_service_without_a_pinned_model_does_not_start(place: Path) -> None:
    tables = {
        "kafka": 'bootstrap_servers = "127.0.0.1:1"',
        "milvus": f'uri = "{place}/index"',
        "http": "port = 0",
        "engine": 'name = "llama"',
        "serve": "enabled = true",
        "[serve.model]": f'name = "gone"\nfolder = "{place}/gone"\npin = true',
    }
    (place / "pinned.toml").write_text("".join(f"[{name}]\n{keys}\n" for name, keys in tables.items()))
    for verb in ("run", "serve"):
        ended = vectail(verb, "-c", str(place / "pinned.toml"))
        assert ended.exit_code == 2
        assert ended.err.endswith(f"vectail: no model in {place}/gone: there is no such folder\n")
        assert "Traceback" not in ended.err


def test_an_unknown_variable_of_ours_is_refused_with_the_nearest_name(run_here: RunHere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_TOPICS", "logs")

    ended = run_here("config", "check")

    assert ended.exit_code == 2
    assert "did you mean 'VECTAIL_TOPIC'?" in in_one_line(ended)


@pytest.mark.process
def test_an_unreadable_file_is_refused_in_one_line(tmp_path: Path) -> None:
    secret = tmp_path / "secret.log"
    secret.write_text("a line\n")
    secret.chmod(0)

    for verb in ("demo", "feed"):
        command = unprivileged([sys.executable, "-m", "worker", verb, str(secret)])
        child = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60, check=False)
        assert child.returncode == 2
        assert "no permission to read it" in in_one_line(EndedVerb(child.returncode, child.stdout, child.stderr))


@pytest.mark.parametrize("verb", ["demo", "feed"])
def test_a_file_that_fails_while_it_is_read_is_refused_in_one_line(
    broker: EmbeddedBroker, topic: str, run_here: RunHere, verb: str
) -> None:
    words = ["--topic", topic, "--bootstrap-servers", broker.bootstrap_servers] if verb == "feed" else []

    ended = run_here(verb, "/proc/self/mem", *words)

    assert ended.exit_code == 2
    assert in_one_line(ended) == "/proc/self/mem: Input/output error"


@pytest.mark.parametrize("words", [["config", "show"], ["--help"]])
def test_a_reader_that_has_gone_is_no_reason_for_a_traceback(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        child = subprocess.run(
            [sys.executable, "-m", "worker", *words],
            cwd=ROOT,
            env=environment(),
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)

    assert child.stderr == b""
    assert child.returncode == 1


def test_without_standard_output_a_verb_still_works() -> None:
    child = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -m worker config check >&-', sys.executable],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert (child.returncode, child.stderr) == (0, b"")


def test_a_port_that_somebody_else_has_is_told_before_anything_is_loaded(run_here: RunHere, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("VECTAIL_HTTP__PORT", str(port))
        ended = run_here("run")
    assert ended.exit_code == 2
    assert f"http cannot listen on 127.0.0.1 port {port}: Address already in use; set http.port" in in_one_line(ended)


def test_an_address_that_others_reach_is_refused_without_a_token_before_anything_is_loaded(
    run_here: RunHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VECTAIL_HTTP__HOST", "0.0.0.0")  # noqa: S104 - the subject of the test
    ended = run_here("run")
    assert ended.exit_code == 2
    assert "http would let everyone who reaches 0.0.0.0 search the logs; set http.token" in in_one_line(ended)
