"""`vectail search` with a worker that answers: every option reaches the worker, and its answers are shown. Engine and sink are fakes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.fakes.sink import FakeSink
from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import in_one_line
from tests.worker.running import WAIT_S, World, wait_until
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer

Ask = Callable[..., Any]

NOON_MS = 1_714_564_800_000
LINES = [
    *(
        {
            "service": "disks",
            "level": "WARN",
            "message": f"disk {n} failed",
            "trace_id": f"t{n}",
            "kubernetes": {"pod_name": f"node-{n % 2}"},
        }
        for n in range(5)
    ),
    *({"service": "nets", "level": "ERROR", "message": f"network {n} failed"} for n in range(3)),
    {"service": "nets", "level": "INFO", "message": "request req-7f3a91 done"},
]
"""One a second, from noon on."""


def noon(seconds: int) -> str:
    return f"2024-05-01T12:00:{seconds:02}Z"


@pytest.fixture(scope="module")
def answered(prepared_model: PreparedModel) -> Iterator[World]:
    """A worker that has indexed the lines, in order and in one partition."""
    words = Tokenizer(prepared_model)
    world = World(prepared_model, words)
    world.sink = FakeSink()
    producer = Producer({"bootstrap.servers": world.kafka.bootstrap_servers, "log_level": 0})
    for second, line in enumerate(LINES):
        producer.produce(world.topic, json.dumps(line), partition=0, timestamp=NOON_MS + second * 1000)
    assert producer.flush(WAIT_S) == 0
    world.start().opened()
    wait_until(lambda: len(world.stored()) == len(LINES), "the lines to be stored")
    yield world
    world.close()
    words.close()


@pytest.fixture
def ask(answered: World, run_here: RunHere, tmp_path: Path) -> Ask:
    """Run `vectail search` with these words; returns the answer as an object, or the output if it is not JSON."""
    file = tmp_path / "vectail.toml"
    kafka = answered.kafka
    topics = f'query_topic = "{kafka.query_topic}"\nreply_topic = "{kafka.reply_topic}"\n'
    file.write_text(f'[kafka]\nbootstrap_servers = "{kafka.bootstrap_servers}"\n{topics}')

    def run(*words: str, as_json: bool = True, exit_code: int = 0) -> Any:  # noqa: ANN401 - as JSON has it
        ended = run_here("search", *words, *(("--json",) if as_json else ()), "-c", str(file), "--timeout", "60")
        assert ended.exit_code == exit_code, ended.err
        if exit_code:
            return in_one_line(ended)
        assert ended.err == ""
        return json.loads(ended.out) if as_json else ended.out

    return run


def messages(answer: dict[str, Any]) -> list[str]:
    return [hit["text"] for hit in answer["hits"]]


def test_the_hits_are_one_line_of_each_template(ask: Ask) -> None:
    answer = ask("disk 3 failed")
    assert answer["mode"] == "hybrid"
    assert answer["complete"] is True
    assert len({hit["template"] for hit in answer["hits"]}) == len(answer["hits"]) == 3


def test_more_lines_of_a_template_come_if_they_are_wanted(ask: Ask) -> None:
    answer = ask("disk 3 failed", "--mode", "dense", "--per-template", "4", "-k", "4")
    assert messages(answer) == ["disk 4 failed", "disk 3 failed", "disk 2 failed", "disk 1 failed"]
    assert answer["hits"][0]["score"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("filters", "first_words"),
    [
        (("--level", "ERROR", "--level", "INFO"), {"network", "request"}),
        (("--service", "disks", "--level", "ERROR"), set()),
        (("--since", noon(5), "--until", noon(8)), {"network"}),
        (("--since", "1h"), set()),
        (("--topic", "another"), set()),
        (("--field", "k8s.pod.name=node-1", "--field", "k8s.pod.name=node-7", "--trace-id", "t3"), {"disk"}),
        (("--field", "k8s.pod.name=node-0", "--trace-id", "t3"), set()),
        (("--not-service", "disks", "--not-level", "INFO"), {"network"}),
        (("--not-field", "k8s.pod.name=node-0", "--not-field", "k8s.pod.name=node-1"), {"network", "request"}),
    ],
)
def test_filters_say_which_lines_may_be_hits(ask: Ask, filters: tuple[str, ...], first_words: set[str]) -> None:
    assert {text.split()[0] for text in messages(ask("something failed", *filters))} == first_words


def test_what_was_not_found_says_which_filter_to_drop(ask: Ask) -> None:
    told = ask("disk", "--level", "FATAL", as_json=False)
    assert told.endswith("No lines found. Try it without --level.\n")


def test_fields_are_shown_with_the_hits(ask: Ask) -> None:
    (hit,) = ask("disk 3 failed", "--trace-id", "t3")["hits"]
    assert hit["fields"] == {"trace_id": "t3", "k8s.pod.name": "node-1"}
    assert "trace_id=t3  k8s.pod.name=node-1" in ask("disk 3 failed", "--trace-id", "t3", as_json=False)


def test_templates_come_with_their_counts(ask: Ask) -> None:
    answer = ask("disk 3 failed", "--as", "templates", "-k", "1")
    (template,) = answer["templates"]
    assert (template["lines"], template["example"], template["last"] - template["first"]) == (5, "disk 4 failed", 4_000)
    assert "disk 4 failed" in ask("disk 3 failed", "--as", "templates", as_json=False)


def test_lines_are_counted(answered: World, run_here: RunHere, ask: Ask, tmp_path: Path) -> None:
    ask("disk")  # writes the settings file
    words = ("-c", str(tmp_path / "vectail.toml"), "--since", noon(0), "--timeout", "60")
    counted = run_here("counts", *words, "--by", "level", "--by", "time", "--buckets", "3", "--json")
    assert (counted.exit_code, counted.err) == (0, "")
    answer = json.loads(counted.out)
    assert (answer["by"], answer["bucket_ms"], answer["complete"]) == (["time", "level"], 5_000, True)
    rows = [(row["time"] - NOON_MS, row["level"], row["lines"]) for row in answer["counts"]]
    assert rows == [(0, "WARN", 5), (5_000, "ERROR", 3), (5_000, "INFO", 1)]
    by_field = json.loads(run_here("counts", *words, "--by", "field:k8s.pod.name", "--json").out)
    assert [(row["field:k8s.pod.name"], row["lines"]) for row in by_field["counts"]] == [("", 4), ("node-0", 3), ("node-1", 2)]
    assert "node-1" in run_here("counts", *words, "--by", "field:k8s.pod.name", "--trace-id", "t3").out
    shown = run_here("counts", "disk failed", *words, "--top", "1").out
    assert "disk" in shown
    assert "network" not in shown
    assert len(answered.lines()) == sum(row["lines"] for row in answer["counts"])


def test_the_place_of_a_hit_shows_what_stands_around_it(ask: Ask) -> None:
    (hit,) = ask("network 1 failed", "-k", "1", "--service", "nets", "--until", noon(7))["hits"]
    place = f"{hit['topic']}/{hit['partition']}@{hit['offset']}"

    answer = ask("--around", place, "-C", "2")

    assert messages(answer) == ["disk 4 failed", "network 0 failed", "network 1 failed", "network 2 failed", "request req-7f3a91 done"]
    marked = [line for line in ask("--around", place, as_json=False).splitlines() if line.startswith(">")]
    assert len(marked) == 1
    assert "network 1 failed" in marked[0]


def test_a_place_that_nothing_is_at_is_said(ask: Ask, answered: World) -> None:
    assert ask("--around", f"{answered.topic}/3@7", as_json=False).endswith(
        f"Neither {answered.topic}/3@7 nor the lines around it are in the index; -C looks further.\n"
    )
