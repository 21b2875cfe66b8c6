"""`benchmarks.exact_ids` and `benchmarks.retrieval_modes`: what counts as found, and that a hit is told to be the line that it is."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.exact_ids import Wanted, draw, figures_of, identifiers, judge, show_table
from benchmarks.labelled_logs import Label
from benchmarks.questions.asked import Question
from benchmarks.retrieval_index import indexed, line_of
from benchmarks.retrieval_modes import Scores, ask_all, neighbours_of, precision_of, recall_of
from benchmarks.retrieval_modes import figures_of as modes_figures_of
from benchmarks.retrieval_modes import show_table as show_modes
from benchmarks.safety_sides import made_up_model
from tests.model_fixture import CACHE
from worker.settings.settings import load_settings

LINES = [
    "Receiving block blk_-16089 src: /10.250.19.102:54106 dest: /10.250.19.10:50010",
    "Served block blk_16089 to /110.250.19.10",
    "[req-3ea4052c-895d-4b64-9e2d-04d64c4d94ab] GET /v2/1.10.250.19.10 by 10.250.19.10.",
    "Established session 0x14ede63a5a70004 for BP-108841162-10.10.34.11-1440074360971",
    "Progress of attempt_1445144423722_0020_m_000002_0 is: 0.19",
]


def hit(line: int, text: str) -> dict[str, Any]:
    return {"partition": line % 4, "offset": line // 4, "text": text}


def test_identifiers_are_whole_and_know_their_lines() -> None:
    assert [(one.text, one.kind, sorted(one.lines)) for one in identifiers(LINES)] == [
        ("10.10.34.11", "address", [3]),
        ("10.250.19.10", "address", [0, 2]),
        ("10.250.19.102", "address", [0]),
        ("110.250.19.10", "address", [1]),
        ("blk_-16089", "block", [0]),
        ("blk_16089", "block", [1]),
        ("attempt_1445144423722_0020_m_000002_0", "hadoop", [4]),
        ("0x14ede63a5a70004", "hexadecimal", [3]),
        ("req-3ea4052c-895d-4b64-9e2d-04d64c4d94ab", "uuid", [2]),
    ]


def test_as_many_are_drawn_of_every_kind_and_the_same_in_every_run() -> None:
    wanted = [Wanted(f"{kind}{number}", kind, frozenset()) for kind, count in {"block": 50, "uuid": 2}.items() for number in range(count)]
    drawn = draw(wanted, 10)
    assert drawn == draw(wanted, 10)
    assert sorted(one.kind for one in drawn) == ["block"] * 8 + ["uuid"] * 2
    assert len(set(draw(wanted, 1_000))) == 52


def test_found_is_what_all_of_the_first_three_have() -> None:
    wanted = Wanted("10.0.0.1", "address", frozenset({0, 1, 2, 3}))
    good = [hit(number, f"from 10.0.0.1:{number}") for number in range(4)]
    assert judge(wanted, good[:3]).is_found
    assert judge(wanted, [good[2], good[3], good[0]]).is_found
    assert judge(wanted, [*good[:2], hit(9, "from 10.0.0.10"), good[2]]).hits == [True, True, False]
    assert not judge(wanted, [*good[:2], hit(9, "from 10.0.0.10"), good[2]]).is_found
    assert not judge(wanted, good[:2]).is_found
    assert not judge(wanted, [good[0]] * 3).is_found


def test_found_is_every_line_that_has_it_where_they_are_fewer() -> None:
    wanted = Wanted("blk_7", "block", frozenset({1, 6}))
    first, second, other = hit(1, "blk_7"), hit(6, "ask blk_7 blk_8"), hit(2, "blk_77")
    assert judge(wanted, [second, first, other]).is_found
    assert judge(wanted, [first, second]).is_found
    assert not judge(wanted, [first, other, second]).is_found
    assert not judge(wanted, [first]).is_found
    assert not judge(wanted, []).is_found


def test_the_share_comes_first_and_those_that_failed_are_named() -> None:
    verdicts = [judge(Wanted(f"blk_{number}", "block", frozenset({0})), [hit(0, "blk_1 blk_2 blk_3")]) for number in range(1, 5)]
    figures = figures_of(verdicts, 16)
    assert (next(iter(figures)), figures["found_share"], figures["ids"]) == ("found_share", 0.75, 4)
    assert figures["kinds"] == {"block": {"ids": 4, "found": 3}}
    shown: list[str] = []
    show_table(figures, shown.append)
    assert shown[-1] == "not found: blk_4 (block, in 1 lines); hits with it: [False]"


def test_a_label_stands_where_its_first_hit_does() -> None:
    labels = [Label("a", f"E{number}") for number in range(12)]
    hits = [labels[0], labels[0], *labels[1:]]
    assert recall_of(hits, frozenset({labels[9], labels[10]})) == 0.5
    assert precision_of(hits, frozenset({labels[0], labels[9]})) == 0.2
    assert precision_of(labels[:3], frozenset(labels[:3])) == 0.3


def test_a_line_is_no_neighbour_of_its_own() -> None:
    labels = [Label("a", "E1"), Label("a", "E1"), Label("a", "E2"), Label("a", "E1")]
    others = {Label("a", "E1"): 2, Label("a", "E2"): 0}
    assert neighbours_of(0, [0, 1, 2], labels, others) == 0.5
    assert neighbours_of(0, [1, 3, 2, 0], labels, others) == 1.0
    assert neighbours_of(2, [0], labels, others) is None


def test_questions_that_changed_are_named() -> None:
    questions = [Question("one?", {}), Question("two?", {})]
    dense, hybrid = Scores([0.5, 0.5], [0.1, 0.3], [1.0, 0.0], []), Scores([0.5, 1.0], [0.1, 0.5], [1.0, 1.0], [1.0])
    figures = modes_figures_of({"dense": dense, "hybrid": hybrid}, questions)
    assert (next(iter(figures)), figures["recall10_ratio"]) == ("recall10_ratio", 1.5)
    assert figures["recall10_changed"] == {"two?": [0.5, 1.0]}
    shown: list[str] = []
    show_modes(figures | {"questions": 2, "sampled_lines": 1, "lines": 4, "engine": "e"}, shown.append)
    assert shown[-1] == "  0.50 → 1.00  two?"


@pytest.mark.process
def test_a_hit_is_told_to_be_the_line_that_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(CACHE))
    settings = load_settings(None)
    templates = ("link down on port", "user logged in from", "disk of volume is full at")
    lines = [f"{template} 10.0.{number}.{place}" for number in range(4) for place, template in enumerate(templates)]
    labels = [Label("a", f"E{place % 3}") for place in range(12)]
    with indexed(settings, made_up_model(settings), tmp_path / "index", lines) as ask:
        found = ask({"text": "logged in", "mode": "words", "k": 9, "per_template": 9})
        assert sorted(line_of(one) for one in found) == [1, 4, 7, 10]
        assert all(one["text"] == lines[line_of(one)] for one in found)
        scores = ask_all(ask, "hybrid", labels, lines, [Question("who logged in?", {Label("a", "E1"): 2, Label("a", "E0"): 1})], [1, 4])
        with pytest.raises(SystemExit, match="bad_query"):
            ask({"text": "logged in", "k": 0})
    assert (scores.recall, scores.first, scores.lines) == ([1.0], [1.0], [1.0, 1.0])
