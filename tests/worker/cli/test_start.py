"""`vectail run` ends as documented from its first moments on."""

import signal
import time
from pathlib import Path

import pytest

from tests.worker.cli.console import WAIT_S, RunningVerb
from worker.cli.exit_codes import DRAINED

LOOK_AGAIN_S = 0.005


@pytest.mark.parametrize(
    ("more", "number"),
    [([], signal.SIGTERM), ([], signal.SIGINT), (["--workers", "2"], signal.SIGTERM)],
    ids=["SIGTERM", "SIGINT", "of two workers"],
)
def test_a_signal_while_it_still_loads_its_libraries_is_a_drain(tmp_path: Path, more: list[str], number: signal.Signals) -> None:
    config = tmp_path / "vectail.toml"
    config.write_text('[[topic]]\nname = "logs"\n[milvus]\nuri = "http://127.0.0.1:1"\n', encoding="utf-8")
    with RunningVerb(["run", "--config", str(config), *more]) as running:
        until_s = time.monotonic() + WAIT_S
        while "_multiarray_umath" not in Path(f"/proc/{running.process.pid}/maps").read_text(encoding="utf-8"):
            assert time.monotonic() < until_s
            time.sleep(LOOK_AGAIN_S)
        running.send(number)
        ended = running.end()
    assert ended.exit_code == DRAINED, ended.err
    assert ended.err == ""
