"""`vectail demo --serve` and its clients, run as a user runs them in two terminals; the last test of the demo ends it."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.index import read_index
from tests.worker.cli.conftest import ReadTopic, RunHere
from tests.worker.cli.console import RunningVerb, in_one_line

LINES = [f"Nov 21 06:33:54 node-{n} kubelet[{n}]: filesystem /data is {90 + n}% full" for n in range(5)]


class Served:
    """A demo that serves, its data folder and the address of its broker."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        file = folder / "app.log"
        file.write_text("\n".join(LINES))
        self.running = RunningVerb(["demo", str(file), "--data", str(self.data), "--serve", "--json"])
        self.running.wait_for("Ctrl-C ends it.")
        self.running.wait_for('"queries": []}\n')
        self.address = self.running.err.partition("--bootstrap-servers ")[2].split()[0]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("serve"))
    yield served
    served.running.close()


def test_the_object_is_printed_before_serving_begins(served: Served) -> None:
    assert json.loads(served.running.out)["records"] == len(LINES)
    assert served.running.out.count("\n") == 1


def test_search_as_json_is_one_object(served: Served, run_here: RunHere) -> None:
    ended = run_here("search", "disk full", "-k", "1", "--json", "--bootstrap-servers", served.address)

    answer = json.loads(ended.out)
    assert (ended.exit_code, ended.err) == (0, "")
    assert set(answer) == {"text", "complete", "mode", "seconds", "hits", "counted", "behind_records", "indexed_until_ms"}
    assert len(answer["hits"]) == 1
    assert answer["hits"][0]["text"] in LINES


def test_counts_of_times_without_lines_have_nothing_to_be_compared_with(served: Served, run_here: RunHere) -> None:
    where = ("--compare", "1h", "--bootstrap-servers", served.address)
    ended = run_here("counts", *where)
    assert (ended.exit_code, ended.err) == (0, "")
    assert "Neither span has lines" in ended.out
    answer = json.loads(run_here("counts", *where, "--by", "level", "--json").out)
    assert (answer["compare"], answer["totals"]["before"]) == ([], 0)


def test_templates_are_listed_with_their_lines_and_an_example(served: Served, run_here: RunHere) -> None:
    ended = run_here("templates", "--since", "all", "--bootstrap-servers", served.address)

    assert (ended.exit_code, ended.err) == (0, "")
    rows = [line.split() for line in ended.out.splitlines() if "kubelet" in line]
    assert [row[0] for row in rows] == ["5"]


EXAMPLE = ("example", "service", "level", "time", "kafka_time")


def test_the_templates_of_a_family_are_listed_one_by_one(served: Served, run_here: RunHere) -> None:
    where = ("--since", "all", "--json", "--bootstrap-servers", served.address)
    (family,) = json.loads(run_here("templates", *where).out)["templates"]
    (template,) = json.loads(run_here("templates", "--family", family["family"], "--expand", *where).out)["templates"]
    assert list(template) == ["template", "family", "text", "lines", "first", "last", *EXAMPLE]
    assert (template["family"], template["lines"], family["templates"]) == (family["family"], family["lines"], 1)
    assert json.loads(run_here("templates", "--family", "0" * 16, *where).out)["templates"] == []


def test_templates_like_a_text_as_json_are_one_object(served: Served, run_here: RunHere) -> None:
    ended = run_here("templates", "--like", "disk full", "--since", "all", "--json", "--bootstrap-servers", served.address)

    answer = json.loads(ended.out)
    assert (ended.exit_code, ended.err) == (0, "")
    assert set(answer) == {"text", "complete", "mode", "seconds", "templates", "behind_records", "indexed_until_ms"}
    (template,) = answer["templates"]
    assert list(template) == ["family", "text", "templates", "lines", "first", "last", *EXAMPLE, "score", "similarity"]
    assert (template["lines"], template["templates"], template["example"] in LINES) == (len(LINES), 1, True)
    assert answer["complete"] is True


def test_bytes_that_are_no_text_are_asked_for_all_the_same(served: Served, run_here: RunHere) -> None:
    ended = run_here("search", "disk \udcff full", "--bootstrap-servers", served.address)

    assert (ended.exit_code, ended.err) == (0, "")
    assert "disk \ufffd full" in ended.out


def test_lines_that_are_fed_can_be_found(run_here: RunHere, read_topic: ReadTopic, tmp_path: Path) -> None:
    served = Served(tmp_path)
    try:
        feed_and_find(served, run_here, read_topic, tmp_path / "more.log")
    finally:
        served.running.close()


def feed_and_find(served: Served, run_here: RunHere, read_topic: ReadTopic, more: Path) -> None:
    more.write_bytes(b"the cat sat on the mat\n" + b"z" * 1_000_001 + b"\n")

    fed = run_here("feed", str(more), "--json", "--bootstrap-servers", served.address)
    assert (fed.exit_code, fed.err) == (0, "")
    figures = json.loads(fed.out)
    assert (figures["lines"], figures["sent"], figures["too_large"]) == (2, 1, 1)
    letter = read_topic(served.address, "vectail.dead-letters", 1)[0]
    assert letter.value() == b"z" * 1024

    for _ in range(100):
        found = json.loads(run_here("search", "a cat on a mat", "-k", "1", "--json", "--bootstrap-servers", served.address).out)
        if found["hits"][0]["text"] == "the cat sat on the mat":
            return
    pytest.fail("the line was not found")


def test_its_folder_is_refused_to_another_process(served: Served, run_here: RunHere) -> None:
    ended = run_here("demo", "--data", str(served.data))

    assert ended.exit_code == 2
    assert in_one_line(ended) == f"Milvus folder {served.data}/index.db is in use by another process"


def test_ctrl_c_ends_it_in_order_and_the_index_is_whole(tmp_path: Path) -> None:
    served = Served(tmp_path)
    try:
        served.running.send(signal.SIGINT)
        ended = served.running.end()
    finally:
        served.running.close()

    assert ended.exit_code == 0
    assert ended.err.endswith("vectail: Draining …\n")
    assert ended.out.count("\n") == 1
    index = read_index(served.data / "index.db", "vectail", dict.fromkeys(range(4), 10), tmp_path / "copy")
    assert sorted(line.text for line in index.lines) == sorted(LINES)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_interrupted_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    with RunningVerb(["demo", "-", "--data", str(tmp_path / "data")], stdin=subprocess.PIPE) as running:
        running.wait_for("Loading the model")
        running.send(number)
        ended = running.end()

    assert ended.exit_code == 130
    assert "Traceback" not in ended.err
