"""Rivals run in processes of their own: one that fails is left out with its reason, and nothing that it has started stays behind."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from benchmarks.engines import Rival, opened_rivals
from benchmarks.own_servers import own_milvus
from benchmarks.race import LeftOut, race
from benchmarks.rivals.own_process import OwnProcess
from tests.services.processes import started
from tests.worker.running import wait_until

OPENERS = "tests.benchmarks.openers"
pytestmark = pytest.mark.process


def test_rivals_that_fail_are_left_out_and_the_others_go_on() -> None:
    rivals = {
        "lengths": Rival(f"{OPENERS}:open_lengths", ("numpy",)),
        "instead": Rival(f"{OPENERS}:open_nothing", ("numpy",), "lengths"),
        "nothing": Rival(f"{OPENERS}:open_nothing", ("numpy",)),
        "deadly": Rival(f"{OPENERS}:open_deadly", ("numpy",)),
        "absent": Rival(f"{OPENERS}:open_lengths", ("no_such_library",)),
    }
    left_out: dict[str, str] = {}
    with opened_rivals(rivals, [Path(), 2], "float32", left_out) as opened:
        sides = {name: partial(rival.embed, ["a", "bcd"]) for name, rival in opened.items()}
        ran = race(sides, 3, warm_ups=1, left_out=left_out)
    assert {name: [turn.vectors.tolist() for turn in turns] for name, turns in ran.items()} == {"lengths": [[[1.0, 1.0], [3.0, 3.0]]] * 3}
    assert left_out == {
        "nothing": "FileNotFoundError: there is no model",
        "deadly": "it ended without a word",
        "absent": "not installed: no_such_library",
    }


@pytest.mark.long
@pytest.mark.parametrize("is_killed", [False, True], ids=["closed", "killed at work"])
def test_processes_that_a_rival_has_started_end_with_it(tmp_path: Path, *, is_killed: bool) -> None:
    pids = tmp_path / "pids"
    rival = OwnProcess(f"{OPENERS}:open_family", [pids, 1], log=tmp_path / "log")
    pids_of_both = [int(pid) for pid in pids.read_text().split()]
    assert len(pids_of_both) == 2
    assert all(map(started, pids_of_both))
    if is_killed:
        os.kill(os.getpgid(pids_of_both[0]), signal.SIGKILL)
        with pytest.raises(LeftOut):
            rival.embed(["a"])
    rival.close()
    wait_until(lambda: not any(map(started, pids_of_both)), "the end of both")


def test_where_no_server_can_be_started_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with own_milvus() as own:
        assert own.address == ""
        assert own.reason.startswith("unshare is not installed")
