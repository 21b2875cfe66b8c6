"""`benchmarks.questions`: questions that are well formed or not, a small collection measured to the end, and the figures."""

import contextlib
import json
from pathlib import Path

import pytest

from benchmarks.labelled_logs import Label, LabelledLine, Misfit
from benchmarks.questions.__main__ import main, measure
from benchmarks.questions.asked import ANSWERS, RELATED, Question, read_all_questions, read_questions
from benchmarks.questions.report import Found, figures_of, show_table
from benchmarks.questions.scores import Score
from worker.embedding.loaded import load_model
from worker.embedding.model.prepared import PreparedModel
from worker.settings.settings import load_settings

SYSTEMS = {"Apache": 6, "BGL": 120, "HDFS": 14, "Hadoop": 114, "Mac": 341, "OpenSSH": 27, "OpenStack": 43, "Zookeeper": 50}
"""LogHub's labels of each system: EventIds from E1."""
SOME = """
[[question]]
text = "one?"
answers.A = [1, 2]
related.B = [7]

[[question]]
text = "two?"
answers.A = [1]
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "questions.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_questions_have_graded_labels_of_several_files(tmp_path: Path) -> None:
    there = {Label("A", "E1"), Label("A", "E2"), Label("B", "E7")}
    one, two = read_questions(there, write(tmp_path, SOME))
    assert one == Question("one?", {Label("A", "E1"): ANSWERS, Label("A", "E2"): ANSWERS, Label("B", "E7"): RELATED})
    assert one.answers == {Label("A", "E1"), Label("A", "E2")}
    assert two == Question("two?", {Label("A", "E1"): ANSWERS})


def test_a_question_with_a_label_of_an_absent_file_is_left_out(tmp_path: Path) -> None:
    assert [question.text for question in read_questions({Label("A", "E1"), Label("A", "E2")}, write(tmp_path, SOME))] == ["two?"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[question]]\ntext = "one?"\nanswers.A = [3]\n', r"no line of A is labelled E3, which 'one\?' names"),
        ('[[question]]\ntext = "one?"\nrelated.A = [1]\n', r"nothing answers 'one\?'"),
        ('[[question]]\ntext = "one?"\nanswers.A = [1]\nrelated.A = [1]\n', r"'one\?' names a label twice"),
        ('[[question]]\ntext = "one?"\nanswers.A = [1]\nanswer.A = [2]\n', r"'one\?' has an unknown key 'answer'"),
        ('[[question]]\ntext = "one?"\nanswers.A = [1]\n' * 2, r"'one\?' is asked twice"),
        ("[[question]]\nanswers.A = [1]\n", "is not usable"),
        ('[[question]]\ntext = "one?"\nanswers = [1]\n', "is not usable"),
        ('[[question]]\ntext = "one?"\nanswers.A = ["E1x"]\n', "is not usable"),
        ('[[question]]\ntext = "one?"\nanswers.B = [1]\n', "no question is about A alone"),
    ],
)
def test_questions_that_do_not_fit_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(Misfit, match=message):
        read_questions({Label("A", "E1")}, write(tmp_path, text))


def test_our_questions_are_many_and_about_every_system() -> None:
    questions = read_all_questions()
    labels = {Label(system, f"E{number}") for system, count in SYSTEMS.items() for number in range(1, count + 1)}
    assert len(questions) >= 150
    assert all(question.grades.keys() <= labels for question in questions)
    about = [{label.file for label in question.answers} for question in questions]
    assert all(sum(system in files for files in about) >= 15 for system in SYSTEMS)


def test_a_small_collection_is_measured_to_the_end(prepared_model: PreparedModel) -> None:
    settings = load_settings(None, {"engine": {"name": "llama"}, "model": {"cache": str(prepared_model.folder.parent)}})
    model = load_model(settings)
    shapes = {"E1": "link down on port {}", "E2": "user {} logged in from 10.0.0.{}", "E3": "disk {} of volume {} is full"}
    lines = [
        LabelledLine(shape.format(number, number + 20), Label("Other", event)) for number in range(4) for event, shape in shapes.items()
    ]
    # the masks of version 2 leave names of hosts in
    lines += [LabelledLine(f"no reply from {name}.example.com", Label("Other", "E4")) for name in ("alpha", "beta", "gamma")]
    questions = [Question("who signed in?", {Label("Other", "E2"): ANSWERS}), Question("no space is left", {Label("Other", "E3"): ANSWERS})]

    with contextlib.closing(model.engine):
        found = measure(model, lines, range(len(lines)), questions)
        sampled = measure(model, lines, [0, 1, 2, 5], questions)

    assert list(found) == ["raw", "version_2", "masks", "families"]
    assert {way: one.results for way, one in found.items()} == {"raw": 15, "version_2": 6, "masks": 4, "families": 4}
    assert all(one == Score(1.0, 1.0, 1.0, 1.0) for way in ("version_2", "masks", "families") for one in found[way].scores)
    assert found["raw"].scores[0].hit1 == 1.0
    assert sampled["raw"].results == 4
    assert [sampled[way] for way in ("version_2", "masks", "families")] == [found[way] for way in ("version_2", "masks", "families")]


def test_figures_are_means_by_model_and_way_and_families_of_the_default_model_come_first() -> None:
    poor, good = Score(0.0, 1.0, 0.25, 0.5), Score(1.0, 1.0, 0.75, 0.5)
    ways = {way: Found(7, [poor, good]) for way in ("raw", "version_2", "masks")} | {"families": Found(3, [good, good])}
    figures = figures_of({"mini": ways, "other": dict.fromkeys(ways, Found(9, [poor, poor]))}, ["one?", "two?"])
    assert [figures[name] for name in ("questions", "hit1", "hit5", "ndcg10")] == [2, 1.0, 1.0, 0.75]
    version_2 = figures["by"]["mini"]["version_2"]
    assert version_2 == {"texts": 7, "hit1": 0.5, "hit5": 1.0, "ndcg10": 0.5, "ndcg10_repeats": 0.5}
    assert figures["by"]["mini"]["families"]["vs_version_2"]["ndcg10"] == {"mean": 0.25, "margin": 0.49}
    assert figures["by"]["other"]["families"]["ndcg10"] == 0.25
    assert figures["each"]["one?"] == {"raw": 0.25, "version_2": 0.25, "masks": 0.25, "families": 0.75}

    shown: list[str] = []
    about = {"lines": 24, "whole_lines": 12, "engine": "e", "absent": {"bge": "Maven is not installed"}}
    show_table(json.loads(json.dumps(figures)) | about, shown.append)
    assert "| mini | `families` | 3 | 1.000 | 1.000 | 0.750 | +0.250 ± 0.490 | 0.500 |" in shown
    assert "| mini | `version_2` | 7 | 0.500 | 1.000 | 0.500 | - | 0.500 |" in shown
    assert "2 questions, 24 lines, 12 of them whole, engine e" in shown
    assert "bge was not measured: Maven is not installed" in shown
    assert "  0.75 instead of 0.25  one?" in shown


def test_a_folder_without_labelled_logs_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["questions", "--logs", str(tmp_path), "--default-only"])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert capsys.readouterr().err.endswith("no NAME.log with its NAME.csv; give a folder of labelled logs (LogHub) with --logs\n")
