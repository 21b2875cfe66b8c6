"""Which questions and messages are trained on together: pure, and the same for the same seed.

A batch has 16 questions, an answer of each, and for each of them a message of its program that is worth nothing and that the plain model
ranks high.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.training.graded import Program

QUESTIONS = 16
_HARD = 5
"""A negative is drawn from so many of the highest."""


class Batch(NamedTuple):
    """Numbers of questions and of messages, each counted through all programs."""

    questions: list[int]
    messages: list[int]
    grades: NDArray[np.float32]
    """What each message is worth for each question: float32[questions, messages]."""


class Corpus:
    """The questions and messages of some programs, each with its number.

    Thread: any; nothing changes after construction.
    """

    def __init__(self, programs: Sequence[Program]) -> None:
        self.messages = [text for program in programs for text in program.messages]
        self.questions = [question.text for program in programs for question in program.questions]
        self.grades: list[dict[int, int]] = []
        """Of each question: number of a message → grade."""
        self.own: list[range] = []
        """Of each question: the messages of its program."""
        first = 0
        for program in programs:
            own = range(first, first + len(program.messages))
            for question in program.questions:
                self.grades.append({first + place: grade for place, grade in question.grades.items()})
                self.own.append(own)
            first = own.stop

    def batches(self, cosines: NDArray[np.float32], *, epochs: int, seed: int) -> Iterator[Batch]:
        """Yield the batches of all epochs; `cosines` are the plain model's, float32[questions, messages]."""
        random = Random(seed)
        hard = [self._hard(question, cosines[question]) for question in range(len(self.questions))]
        for _ in range(epochs):
            order = random.sample(range(len(self.questions)), len(self.questions))
            for start in range(0, len(order) - QUESTIONS + 1, QUESTIONS):
                asked = order[start : start + QUESTIONS]
                answers = [random.choice([one for one, grade in self.grades[question].items() if grade > 1]) for question in asked]
                negatives = [random.choice(hard[question]) for question in asked]
                messages = list(dict.fromkeys((*answers, *negatives)))
                grades = np.array([[self.grades[question].get(one, 0) for one in messages] for question in asked], np.float32)
                yield Batch(asked, messages, grades)

    def _hard(self, question: int, cosines: NDArray[np.float32]) -> list[int]:
        worthless = [one for one in self.own[question] if one not in self.grades[question]]
        return sorted(worthless, key=lambda one: -float(cosines[one]))[:_HARD]
