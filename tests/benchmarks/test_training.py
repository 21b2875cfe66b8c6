"""What the shipped model is trained on: its questions, its batches, and how its difference is written. Nothing is trained here."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.labelled_logs import Misfit
from benchmarks.training.batches import QUESTIONS, Corpus
from benchmarks.training.graded import Program, read_programs
from benchmarks.training.low_rank import save_difference
from worker.embedding.model.difference import add_difference

LOGHUB = {"hdfs", "hadoop", "spark", "zookeeper", "openstack", "bgl", "hpc", "thunderbird", "windows", "linux", "mac", "android"}
LOGHUB |= {"healthapp", "apache", "openssh", "proxifier"}
"""Systems of LogHub, whose texts are for research only, and on eight of which the model is measured."""
FILE = 'program = "one"\n[messages]\n1 = "disk full"\n4 = "disk is fine"\n9 = "bye"\n'


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return read_programs()


def test_there_are_enough_questions_over_enough_programs_none_of_which_is_of_loghub(programs: list[Program]) -> None:
    assert len({program.name for program in programs}) == len(programs) >= 20
    assert sum(len(program.questions) for program in programs) >= 600
    assert not LOGHUB & {program.name.lower() for program in programs}


def written(folder: Path, questions: str) -> Path:
    (folder / "one.toml").write_text(FILE + questions)
    return folder


def test_a_question_grades_messages_by_their_numbers(tmp_path: Path) -> None:
    text = '[[question]]\ntext = "no room"\nanswers = [1]\nrelated = [4]\n[[question]]\ntext = "end"\nanswers = [9]\n'
    (program,) = read_programs(written(tmp_path, text))
    assert program.messages == ("disk full", "disk is fine", "bye")
    assert [(question.text, dict(question.grades)) for question in program.questions] == [("no room", {0: 2, 1: 1}), ("end", {2: 2})]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ('text = "a"\nanswers = []', "'a' has no answer"),
        ('text = "a"\nanswers = [1]\nrelated = [1]', "'a' has no answer, or names a message twice"),
        ('text = "a"\nanswers = [2]', "KeyError"),
        ('text = "a"\nanswers = [1]\nother = 1', "unknown key 'other'"),
        ('text = "a"\nanswers = [1]\n[[question]]\ntext = "a"\nanswers = [4]', "asks twice: 'a'"),
        ("answers = [1]", "KeyError"),
    ],
)  # fmt: skip
def test_a_question_that_is_not_well_formed_is_refused(tmp_path: Path, question: str, reason: str) -> None:
    with pytest.raises(Misfit, match=reason):
        read_programs(written(tmp_path, f"[[question]]\n{question}\n"))


def test_batches_are_the_same_for_a_seed_and_hold_answers_and_worthless_messages_of_the_same_programs(programs: list[Program]) -> None:
    corpus = Corpus(programs[:3])
    cosines = np.random.default_rng(1).random((len(corpus.questions), len(corpus.messages)), dtype=np.float32)
    batches = list(corpus.batches(cosines, epochs=2, seed=5))
    assert len(batches) == 2 * (len(corpus.questions) // QUESTIONS)
    for batch, again in zip(batches, corpus.batches(cosines, epochs=2, seed=5), strict=True):
        assert (batch.questions, batch.messages) == (again.questions, again.messages)
        assert batch.grades.shape == (QUESTIONS, len(batch.messages))
        assert (batch.grades.max(axis=1) == 2).all()
        for question, grades in zip(batch.questions, batch.grades, strict=True):
            assert grades.tolist() == [corpus.grades[question].get(message, 0) for message in batch.messages]
            worthless = [one for one in corpus.own[question] if one not in corpus.grades[question]]
            hard = set(sorted(worthless, key=lambda one: -cosines[question, one])[:5])
            assert hard & set(batch.messages)
    first = [one for batch in batches[: len(batches) // 2] for one in batch.questions]
    assert len(set(first)) == len(first), "a pass asks each question once"


def test_the_file_adds_up_to_what_was_trained_as_far_as_its_rank_goes(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    before = {"m.weight": random.normal(size=(12, 8)).astype(np.float32), "kept": np.ones(2, np.float32)}
    thin = random.normal(size=(12, 2)) @ random.normal(size=(2, 8))
    after = {"m.weight": (before["m.weight"] + thin).astype(np.float32)}
    for rank, left in ((2, 0.0), (1, float(np.linalg.svd(thin)[1][1]))):
        save_difference(before, after, tmp_path / "thin.safetensors", rank=rank)
        found = add_difference(before, tmp_path / "thin.safetensors")
        assert np.linalg.norm(found["m.weight"] - after["m.weight"], 2) == pytest.approx(left, abs=0.02)
        assert found["kept"] is before["kept"]
