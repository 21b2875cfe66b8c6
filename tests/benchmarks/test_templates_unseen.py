"""Templates on logs that nobody tuned them to: Elastic's rule, systems left out, logs without labels, pairs to read."""

from pathlib import Path

import pytest

from benchmarks.labelled_logs import Label, LabelledLine
from benchmarks.race import Missing
from benchmarks.templates_elastic import elastic_templates
from benchmarks.templates_logs import System
from benchmarks.templates_unseen import RULES, leave_out, score_unlabelled, show_pairs, texts_of_logs
from consumers.text.mask import MASKS


def system(name: str, *labelled: tuple[str, str]) -> System:
    return System(name, [LabelledLine(text, Label(name, event), text, "") for event, text in labelled])


LETTERS = "abcdefgh"
WHOM = [("a", f"session opened for user {one.upper()}{one}") for one in LETTERS] + [("b", "ready")]
WHERE = [("a", f"wrote /srv/{one}/{one}/{one}") for one in LETTERS] + [("b", "ready")]
SYSTEMS = [system("one", *WHOM), system("two", *WHOM), system("three", *WHERE)]


def test_elastic_drops_every_token_that_holds_a_digit_and_splits_at_brackets() -> None:
    assert elastic_templates(["x[17]: took 5ms at web-7.example {a1 (b)}", ""]) == ["x : took at b", ""]


def test_every_built_in_mask_but_number_is_in_one_group_of_rules() -> None:
    assert sorted(name for masks in RULES.values() for name in masks) == sorted({mask.name for mask in MASKS} - {"number"})


def test_a_system_is_scored_under_the_rules_that_serve_the_others() -> None:
    figures = leave_out(SYSTEMS)
    assert figures["adds"]["users"] == {"ga": pytest.approx(16 / 27), "fga": pytest.approx(6 / 11), "mixed_share": 0.0, "systems": 2}
    assert figures["adds"]["times"]["systems"] == 0
    # the third system loses its paths, which serve no other, and the first two keep users, of which each serves the other
    assert figures["left_out"]["ga"] == pytest.approx((1 + 1 + 1 / 9) / 3)


def test_logs_without_labels_say_how_many_templates_they_have(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(
        "".join(f"parcel handed over to {name} at noon\n" for name in ("Bob.A", "Amy.B", "Eve.C")) * 2 + "ready\n"
    )
    figures = score_unlabelled(tmp_path)
    expected = {"lines": 7, "templates": 4, "templates_per_line": 4 / 7, "seen_once_share": 1 / 7, "suggested_merges": 2}
    assert figures["by_log"] == {"app": expected}
    assert figures["mean_seen_once_share"] == 1 / 7
    with pytest.raises(Missing, match=r"no line in a NAME\.log"):
        score_unlabelled(tmp_path / "none")


def test_pairs_have_one_template_and_differ_in_more_than_digits(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("took 5 s\ntook 7 s\nsession opened for user Ann\nsession opened for user Bob\nready\n")
    shown: list[str] = []
    show_pairs(texts_of_logs([], tmp_path), 9, shown.append)
    assert len(shown) == 1
    head, *lines = shown[0].splitlines()
    assert head == "app: session opened for a user"
    assert sorted(lines) == ["    session opened for user Ann", "    session opened for user Bob"]
    assert texts_of_logs(SYSTEMS, None)["two"][-1] == "ready"
