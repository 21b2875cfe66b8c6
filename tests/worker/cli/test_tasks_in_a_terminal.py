"""What people come for at the worst hour, in a terminal: each answer is at most three verbs away. `page/test_tasks.py` does it on the page.

A demo serves two hours of logs: a gateway that is well, payments that are declined in the last twenty minutes, names that no mask knows.
"""

import json
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import RunningVerb

HOUR_S = 3_600
NAMES = ["Ada", "Bob", "Carol", "Dave", "Erin", "Frank"]


class Served(NamedTuple):
    """A demo that serves: the words with which verbs reach it, and its file."""

    where: tuple[str, ...]
    file: str


def lines_until(now_s: float) -> Iterator[dict[str, object]]:
    for number in range(240):
        head = {"time": int(now_s) - 2 * HOUR_S + 30 * number, "trace_id": f"{number:032x}"}
        yield head | {"level": "INFO", "service": "gateway", "message": f"GET /healthz took {number} ms", "host.name": "web-0"}
        if number >= 200:
            declined = f"card ending in {1_000 + number} was declined by the bank"
            yield head | {"level": "ERROR", "service": "payments", "message": declined, "host.name": "web-1"}
    for name in NAMES:
        yield {"time": int(now_s), "level": "WARN", "service": "door", "message": f"parcel 'big' handed over to {name} at noon"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("tasks")
    file = folder / "app.log"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines_until(time.time())))
    with RunningVerb(["demo", str(file), "--data", str(folder / "data"), "--serve", "--json"]) as running:
        running.wait_for("Ctrl-C ends it.")
        running.wait_for('"queries": []}\n')
        yield Served(("--bootstrap-servers", running.err.partition("--bootstrap-servers ")[2].split()[0]), str(file))


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        pytest.param("counts --by family --compare 1h", r"ERROR +40 +0 +new +card ending in was declined", id="what began at the incident"),
        pytest.param("counts --by service --level ERROR --compare 1h", r"payments +40 +0 +new", id="which service got worse"),
        pytest.param("counts declined --mode words --by time --by field:host.name --buckets 4", r" web-1 +\d+ ", id="how many, and where"),
        pytest.param("templates --of \"parcel 'big' handed over to Ada at noon\"", r" handed over to", id="is this line new"),
        pytest.param("lag", r"total +0 .* nothing waits", id="how far behind, and until when"),
        pytest.param("search submarine --service nobody", r"No lines found\. Try it without --service\.", id="why is nothing found"),
        pytest.param("dlq ls", r"No dead letters in vectail\.dead-letters\.", id="which records were not indexed"),
    ],
)
def test_one_verb_answers_it(served: Served, run_here: RunHere, line: str, answer: str) -> None:
    ended = run_here(*shlex.split(line), *served.where)
    assert (ended.exit_code, ended.err) == (0, "")
    assert re.search(answer, ended.out), ended.out


def test_the_lines_around_an_error_are_the_next_verb(served: Served, run_here: RunHere) -> None:
    (hit,) = json.loads(run_here("search", "card declined", "-k", "1", "--json", *served.where).out)["hits"]
    place = f"{hit['topic']}/{hit['partition']}@{hit['offset']}"
    ended = run_here("search", "--around", place, "--by", "trace", *served.where)
    assert ended.exit_code == 0
    assert "GET /healthz took" in ended.out, "the gateway's line of that trace"
    assert "declined" in ended.out


def test_masks_that_are_missing_are_suggested_pasted_and_compared(served: Served, run_here: RunHere, tmp_path: Path) -> None:
    config = tmp_path / "vectail.toml"
    config.write_text(run_here("templates", "--suggest", served.file).out, encoding="utf-8")
    ended = run_here("masks", "diff", "default", str(config), served.file)
    assert ended.exit_code == 0
    assert "handed over" in ended.out
