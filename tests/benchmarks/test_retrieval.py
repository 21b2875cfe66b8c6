"""`benchmarks.retrieval`: shares counted by hand on tiny examples, ties included; logs and labels that fit or do not."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.labelled_logs import Label, LabelledLine, Misfit, read_logs
from benchmarks.retrieval import compare, main, neighbours_of, sample, some_of_each
from benchmarks.retrieval_reader import Read
from benchmarks.retrieval_report import figures_of, show_table
from benchmarks.retrieval_scores import Scores, Spent, neighbour_shares, share_found, spend
from worker.embedding.loaded import load_model
from worker.embedding.model.prepared import PreparedModel
from worker.settings.settings import load_settings
from worker.settings.tables import EngineTable, ModelTable

EAST, NORTH, NORTHEAST = (1.0, 0.0), (0.0, 1.0), (0.6, 0.8)


def scores(*values: float) -> Scores:
    return np.array(values, dtype=np.float32)


def read(texts: list[list[int]], vectors: list[tuple[float, float]]) -> Read:
    tokens = np.array([10 * (number + 1) for number in range(len(vectors))])
    return Read([f"text {number}" for number in range(len(vectors))], texts, tokens, np.array(vectors, dtype=np.float32))


def write_log(folder: Path, name: str, lines: bytes, events: list[str], *, head: str = "LineId,Content,EventId,EventTemplate") -> None:
    (folder / f"{name}.log").write_bytes(lines)
    rows = [f'{number + 1},"a, ""b""",{event},<*>' for number, event in enumerate(events)]
    (folder / f"{name}.csv").write_text("\r\n".join([head, *rows, ""]))


def test_the_share_found_is_of_as_many_as_could_be_among_the_first() -> None:
    three = np.array([True, False, True, True])
    assert share_found(scores(0.9, 0.8, 0.7, 0.6), three, first=2) == 0.5
    assert share_found(scores(0.9, 0.1, 0.8, 0.6), three, first=2) == 1.0
    assert share_found(scores(0.9, 0.8, 0.7, 0.6), np.array([False, True, False, False]), first=2) == 1.0
    assert share_found(scores(0.9, 0.8, 0.7, 0.6), np.array([False, False, True, False]), first=2) == 0.0


def test_equal_scores_at_the_end_count_with_the_mean_over_their_orders() -> None:
    # one place is left for three equal ones, of which one is relevant: a third of it
    assert share_found(scores(0.9, 0.5, 0.5, 0.5, 0.1), np.array([True, False, True, False, False]), first=2) == pytest.approx(
        (1 + 1 / 3) / 2
    )


def test_nothing_relevant_has_no_share_and_few_are_all_found() -> None:
    assert share_found(scores(0.9, 0.8, 0.7), np.array([False] * 3), first=2) is None
    assert share_found(scores(0.9, 0.8), np.array([False, True]), first=2) == 1.0


def test_a_line_is_no_neighbour_of_its_own_and_equal_texts_are_neighbours() -> None:
    vectors = np.array([EAST, NORTH, NORTHEAST], dtype=np.float32)
    # lines 0 and 1 have one text; line 2 is nearest to line 3, which has another label; nobody has the label of line 4
    shares = neighbour_shares(vectors, np.array([0, 0, 1, 2, 1]), np.array([7, 7, 7, 8, 9]), first=1)
    assert shares[:3].tolist() == [1.0, 1.0, 0.0]
    assert np.isnan(shares[3:]).all()


def test_a_line_of_two_chunks_stands_for_its_first_and_one_alone_of_its_label_is_left_out() -> None:
    some = read([[0, 1], *[[1]] * 12, [0]], [EAST, NORTH])
    assert neighbours_of(some, np.array([5, *range(6, 18), 5]), range(14)) == {0: 1.0, 13: 1.0}


def test_tokens_are_spent_once_a_text_and_never_on_what_is_known() -> None:
    tokens = np.array([10, 30])
    assert spend([0, 1, 0, 0], tokens) == Spent(60, 40)
    assert spend([0, 1, 0, 0], tokens).saved_share == pytest.approx(1 / 3)
    assert spend([0, 1, 0, 0], tokens, {1}) == Spent(60, 10)


def test_every_file_has_its_own_cold_cache_and_the_three_figures_come_first() -> None:
    labels = [Label("a", "E1"), Label("a", "E1"), Label("b", "E1"), Label("b", "E2")]
    template = read([[0], [0], [0], [1, 1]], [EAST, NORTH])
    exact = read([[0], [1], [2], [3]], [EAST] * 4)
    figures = figures_of(
        labels,
        {"template": template, "exact": exact},
        {"template": {0: 1.0, 1: 0.5}, "exact": {0: 0.5, 1: 0.5}},
    )
    assert list(figures)[:3] == ["p10_template", "p10_exact", "tokens_saved_share"]
    assert [figures[name] for name in list(figures)[:3]] == [0.75, 0.5, round(1 - 30 / 70, 4)]
    assert figures["tokens_saved_share_second_pass"] == 1.0
    assert [figures["files"][file]["tokens_saved_share"] for file in ("a", "b")] == [0.5, 0.4]
    assert (figures["files"]["b"]["labels"], figures["files"]["b"]["texts"], figures["files"]["b"]["p10_exact"]) == (2, 2, None)
    assert figures["all"]["tokens_saved_share_exact"] == 0.0

    shown: list[str] = []
    about = {"model": "m", "engine": "e", "sampled_lines": 2}
    show_table(json.loads(json.dumps(figures)) | about, shown.append)
    assert shown[0].startswith("One collection")
    assert "| a | 2 | 1 | 1 | 2 | 50.0% | 0.0% | 0.7500 | 0.5000 |" in shown


def test_the_same_lines_are_chosen_in_every_run_and_as_many_of_every_file_or_label() -> None:
    labels = [Label("a", "E1")] * 30 + [Label("b", "E1")] * 5 + [Label("b", "E2")] * 2
    assert sample(labels, 10) == sample(labels, 10)
    assert [sum(labels[line].file == file for line in sample(labels, 10)) for file in ("a", "b")] == [5, 5]
    assert some_of_each(labels, 3) == some_of_each(labels, 3)
    assert [sum(labels[line] == label for line in some_of_each(labels, 3)) for label in dict.fromkeys(labels)] == [3, 3, 2]
    assert some_of_each(labels, None) == list(range(37))


def test_lines_and_labels_are_read_side_by_side(tmp_path: Path) -> None:
    write_log(tmp_path, "B", b"one\r\ntwo, \xff\nthree", ["E1", "E2", "E1"])
    write_log(tmp_path, "A", b"\n", ["E9"])
    (tmp_path / "C.csv").write_text("EventId\nE1\n")
    assert read_logs(tmp_path) == [
        LabelledLine("", Label("A", "E9")),
        LabelledLine("one", Label("B", "E1")),
        LabelledLine("two, \ufffd", Label("B", "E2")),
        LabelledLine("three", Label("B", "E1")),
    ]


@pytest.mark.parametrize(
    ("lines", "events", "head", "message"),
    [
        (b"one\n", ["E1", "E2"], "LineId,Content,EventId,EventTemplate", r"A\.log has 1 lines, and A\.csv labels 2"),
        (b"one\ntwo\n", ["E1", ""], "LineId,Content,EventId,EventTemplate", r"A\.csv: row 2 has no EventId"),
        (b"one\n", ["E1"], "LineId,Content,Label,EventTemplate", r"A\.csv: row 1 has no EventId"),
    ],
)
def test_lines_without_their_labels_are_refused(tmp_path: Path, lines: bytes, events: list[str], head: str, message: str) -> None:
    write_log(tmp_path, "A", lines, events, head=head)
    with pytest.raises(Misfit, match=message):
        read_logs(tmp_path)


def test_a_small_collection_is_measured_to_the_end(tmp_path: Path, prepared_model: PreparedModel) -> None:
    templates = (b"link down on port %d", b"user %d logged in from 10.0.0.%d", b"disk %d of volume %d is full")
    lines = [template.replace(b"%d", str(number).encode()) for number in range(8) for template in templates]
    write_log(tmp_path, "Other", b"\n".join(lines), ["E5", "E11", "E2"] * 8)
    table = {"engine": EngineTable(name="llama"), "model": ModelTable(cache=prepared_model.folder.parent)}
    model = load_model(load_settings(None).model_copy(update=table))
    read_lines = read_logs(tmp_path)

    with contextlib.closing(model.engine):
        figures = compare(model, read_lines, sample([line.label for line in read_lines], 12))

    assert (figures["lines"], figures["sampled_lines"]) == (24, 12)
    assert figures["files"]["Other"]["texts"] == 3
    assert figures["p10_template"] == 1.0
    assert figures["tokens_saved_share"] == pytest.approx(7 / 8)


def test_a_folder_without_labelled_logs_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["retrieval", "--logs", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert capsys.readouterr().err.endswith("no NAME.log with its NAME.csv; give a folder of labelled logs (LogHub) with --logs\n")
