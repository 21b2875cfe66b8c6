"""`benchmarks.templates`: scores counted by hand, logs that fit their labels or do not, and runs whose ids agree or do not."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest

from benchmarks.labelled_logs import Misfit
from benchmarks.templates import main, score_all, show_system
from benchmarks.templates_agree import BATCH_LINES, HASH_SEEDS, WORKERS, Agreement, Deal, Ids, agreement, deals_of, ids_of
from benchmarks.templates_groups import new_masker, version_2_masker
from benchmarks.templates_logs import System, read_systems
from benchmarks.templates_report import GroupedSystem, figures_of, show_mistakes, show_table
from benchmarks.templates_scores import Scores, labels_by_group, mean_of, score, splits_gone
from benchmarks.templates_speed import OURS, VERSION_2, Speed, measure_known, measure_new, our_sides
from consumers.columns import Column

LABELS = list("aaaabbbccd")
GROUPS = [1, 1, 1, 1, 2, 2, 3, 4, 4, 4]
"""`a` is exactly group 1; `b` is split into 2 and 3; 4 mixes `c` and `d`."""


def write_log(folder: Path, name: str, lines: list[tuple[str, str, str]]) -> None:
    """Write a log of head, message and label."""
    (folder / f"{name}.log").write_text("\n".join(head + message for head, message, _ in lines))
    rows = [f'{number},"{message}",{event},{event.lower()} <*>' for number, (_, message, event) in enumerate(lines)]
    (folder / f"{name}.csv").write_text("\n".join(["LineId,Content,EventId,EventTemplate", *rows]))


def small_logs(folder: Path) -> list[System]:
    """Write and read two systems: in one, a word splits a label; in the other, numbers split nothing."""
    users = ("ann", "bea", "cleo")
    write_log(folder, "A", [(f"{n} host{n}: ", f"{users[n % 3]} came in", "E1") for n in range(6)])
    write_log(folder, "B", [("INFO ", f"took {n} s", "E1") for n in range(4)] + [("INFO ", "bye", "E2")])
    return read_systems(folder)


def ids(*numbers: int) -> Ids:
    return np.array(numbers, np.uint64)


def test_only_groups_that_are_exactly_a_label_count() -> None:
    # 1 of 4 groups and 1 of 4 labels is exact, with 4 of 10 lines; group 4 is mixed, with 3 lines
    assert score(GROUPS, LABELS) == Scores(ga=0.4, fga=0.25, mixed_share=0.3, groups=4, labels=4)


def test_fga_is_the_harmonic_mean_of_both_shares_of_exact_groups() -> None:
    # 3 exact groups of 5 groups and of 4 labels
    precision, recall = 3 / 5, 3 / 4
    assert score([1, 2, 3, 4, 5], list("abcdd")).fga == pytest.approx(2 * precision * recall / (precision + recall))


def test_one_group_of_everything_is_all_mixed_and_a_group_for_each_line_is_not_mixed_at_all() -> None:
    assert score([1] * 4, list("aabb"))[:3] == (0, 0, 1)
    assert score([1, 2, 3, 4], list("aabb"))[:3] == (0, 0, 0)


def test_each_system_has_the_same_weight_and_counts_are_summed() -> None:
    assert mean_of([Scores(1, 1, 0, 5, 5), Scores(0.5, 0, 0.1, 9, 3)]) == Scores(0.75, 0.5, 0.05, 14, 8)


def test_splits_gone_are_those_of_all_systems_and_mixed_families_do_not_make_up_for_others() -> None:
    few, many = Scores(0, 0, 0, 12, 10), Scores(0, 0, 0, 16, 10)
    # 2 and 6 splits; families leave 1 and 3
    assert splits_gone([few, many], [few._replace(groups=11), many._replace(groups=13)]) == 0.5
    # 4 families of 10 labels are no better than 10
    assert splits_gone([few, many], [few._replace(groups=4), many]) == 0.25
    # a system without splits is left out, whatever its families do
    assert splits_gone([few._replace(groups=10), many], [few._replace(groups=2), many]) == 0.0
    assert splits_gone([few._replace(groups=9)], [few._replace(groups=5)]) is None


def test_labels_are_counted_by_group() -> None:
    assert labels_by_group(GROUPS, LABELS)[4] == {"c": 2, "d": 1}


def test_families_are_scored_beside_templates() -> None:
    system = System("A", [""] * 4, [""] * 4, ["E1", "E1", "E1", "E2"], {})
    figures = figures_of([GroupedSystem(system, ["a", "b", "c", "d"], ["x", "x", "x", "y"])])
    assert (figures["ga"], figures["fga"], figures["templates"], figures["labels"]) == (0.25, round(2 / 6, 4), 4, 2)
    assert (figures["family_ga"], figures["family_fga"], figures["family_mixed_share"], figures["families"]) == (1, 1, 0, 2)
    assert figures["family_splits_gone"] == 1


def test_messages_and_whole_lines_are_read_side_by_side(tmp_path: Path) -> None:
    first, second = small_logs(tmp_path)
    assert (first.name, first.messages[4], first.whole[4], first.labels[4]) == ("A", "bea came in", "4 host4: bea came in", "E1")
    assert second.label_texts == {"E1": "e1 <*>", "E2": "e2 <*>"}


def test_labels_without_messages_are_refused(tmp_path: Path) -> None:
    (tmp_path / "A.log").write_text("one")
    (tmp_path / "A.csv").write_text("LineId,EventId\n1,E1\n")
    with pytest.raises(Misfit, match="no column Content"):
        read_systems(tmp_path)


def test_figures_are_of_messages_and_whole_lines_have_their_own(tmp_path: Path) -> None:
    figures = score_all(small_logs(tmp_path))
    assert figures["by_system"]["B"]["ga"] == 1
    assert figures["by_system"]["A"]["templates"] == 3
    assert (figures["ga"], figures["templates"], figures["labels"], figures["lines"]) == (0.5, 5, 3, 11)
    assert figures["whole"]["templates"] >= 5
    assert figures["version_2"]["whole"]["labels"] == 3


def test_what_is_split_and_what_is_mixed_is_shown_with_the_labels_text(tmp_path: Path) -> None:
    systems, shown = small_logs(tmp_path), list[str]()
    show_system(systems[0], shown.append, whole=False, families=False, limit=2)
    assert "1 labels are split:" in shown
    assert "  E1 e1 <*>  (6 lines, 3 groups)" in shown
    assert "        2 ann came in" in shown
    assert shown[-2:] == ["          … 1 more", "0 groups mix labels:"]

    shown.clear()
    mixed = GroupedSystem(systems[1], ["any"] * 5, ["f"] * 5)
    show_mistakes(mixed, systems[1].messages, shown.append, families=True, limit=2)
    assert shown[-3:] == ["  any  (as in: took 0 s)", "        4 E1 e1 <*>", "        1 E2 e2 <*>"]


def test_the_quick_run_prints_scores_and_nothing_that_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    systems = small_logs(tmp_path)
    monkeypatch.setattr("sys.argv", ["templates", "--logs", str(tmp_path), "--quick", "--json"])
    main()
    figures = json.loads(capsys.readouterr().out)
    assert figures == json.loads(json.dumps(score_all(systems)))
    assert "ids_agree" not in figures

    shown = list[str]()
    show_table(figures, shown.append)
    assert next(line for line in shown if line.startswith("| B |")).startswith("| B | 2 | 2 | 1.0000 | 1.0000 | 0.0000 | 2 |")


def test_ids_agree_on_a_line_only_if_every_run_gives_it_the_same() -> None:
    assert agreement([ids(1, 2, 3, 3), ids(1, 2, 3, 3)]) == Agreement(1, 1)
    # lines 0 and 2 keep their ids; of the ids 1, 2, 3, 4 every run has 1 and 3
    assert agreement([ids(1, 2, 3, 3), ids(1, 2, 3, 1), ids(1, 4, 3, 3)]) == Agreement(0.5, 0.5)


def test_every_line_is_dealt_to_one_worker_and_named_in_its_place() -> None:
    lines = [("A", str(number)) for number in range(10)]
    seen: list[int] = []

    def name(mine: object, batch_lines: int) -> list[str]:
        assert isinstance(mine, list)
        seen.append(len(mine) * batch_lines)
        return [text for _, text in mine]

    dealt = ids_of(lines, Deal(4, 7), name, Random(3))
    assert seen == [21, 21, 14, 14]
    assert dealt.tolist() == ids_of(lines, Deal(1, 1), name, None).tolist()
    assert len(set(dealt.tolist())) == 10


def test_the_processes_together_try_every_batch_size_on_every_number_of_workers() -> None:
    tried = [deal for seed in range(len(HASH_SEEDS)) for deal in deals_of(OURS, seed)]
    assert sorted(tried) == [Deal(workers, lines) for workers in WORKERS for lines in BATCH_LINES]


def test_a_ratio_is_that_of_the_middle_round() -> None:
    speed = Speed(100, {OURS: [1.0, 2.0, 4.0], VERSION_2: [1.0, 1.0, 8.0]})
    assert (speed.lines_per_s(OURS), speed.ours_is_times(VERSION_2)) == (50, 1.0)
    assert (speed.lines_per_s("drain3"), speed.ours_is_times("drain3")) == (None, None)


def test_every_side_takes_every_line_once_a_round() -> None:
    taken = {"one": 0, "two": 0}

    def side(name: str) -> Callable[[Column], None]:
        def take(column: Column) -> None:
            taken[name] += len(column)

        return take

    sides = {name: partial(side, name) for name in taken}
    measure_known(["a 1", "b"], sides, lines=30, rounds=2)
    assert taken == {"one": 60, "two": 60}
    measure_new(["a 1", "b"], sides, rounds=3)
    assert taken == {"one": 66, "two": 66}
    assert list(our_sides()) == [OURS, VERSION_2]


def test_the_masks_of_version_2_leave_words_that_vary() -> None:
    line = "Invalid user bob from 10.0.0.1 port 22"
    assert version_2_masker().mask([line]) == ["Invalid user bob from port"]
    assert new_masker().mask([line]) == ["Invalid user from port"]
