"""Who reads with groups, as administrators ask Kafka, asked in a process of its own.

What is asked of a group's coordinator so ends the whole process when the connection breaks at the wrong moment (librdkafka's pull request
5397, open as of 2.16). A tool may end like that; a worker asks `describe_apart`, and only the process that it starts for the question
ends. `python -m worker.watching.group_members` is that process: a question as JSON on its standard input, the answer on its standard
output.
"""

import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from consumers.record import Partition
from worker.runtime.kafka_admin import BrokerAway, Described, DescribedGroup, DescribedMember, GroupsQuestion, Undescribed, describe_groups

_START_S: Final = 15.0
"""For the process to start, on a busy machine."""


Describe = Callable[[GroupsQuestion], Described]
"""Answers for every group. Raises BrokerAway or KafkaRefused."""


def describe_apart(question: GroupsQuestion) -> Described:
    """Ask in a process of its own, which takes about half a second of processor time."""
    program = [sys.executable, "-m", __name__]
    try:
        ran = subprocess.run(  # noqa: S603 - our own program
            program, input=json.dumps(question), capture_output=True, text=True, timeout=question.answer_s * 2 + _START_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise BrokerAway("no answer about the groups in time") from None
    if ran.returncode != 0:
        raise BrokerAway("the connection broke while the groups were asked for")
    return read_answer(ran.stdout)


class Remembered:
    """Asks for all groups at once, and answers from that for some seconds: members change rarely, and a process costs more than a request.

    Thread: one.
    """

    def __init__(self, groups: Sequence[str], *, keep_s: float, clock: Callable[[], float], describe: Describe = describe_apart) -> None:
        self._groups = groups
        self._keep_s = keep_s
        self._clock = clock
        self._describe = describe
        self._asked_s = -math.inf
        self._found: Described = {}

    def __call__(self, question: GroupsQuestion) -> Described:
        """Answer, as `Describe`; a group that could not be described is asked for again."""
        if not all(map(self._is_answered, question.groups)) or self._clock() - self._asked_s > self._keep_s:
            self._found = self._describe(question._replace(groups=list(dict.fromkeys([*question.groups, *self._groups]))))
            self._asked_s = self._clock()
        return self._found

    def _is_answered(self, group: str) -> bool:
        found = self._found.get(group)
        return found is not None and not (isinstance(found, Undescribed) and found.is_away)


def read_answer(text: str) -> Described:
    """Read what `describe_apart`'s process has written."""
    return {name: _read(one) for name, one in json.loads(text).items()}


def _read(one: Mapping[str, Any]) -> DescribedGroup | Undescribed:
    if "code" in one:
        return Undescribed(**one)
    members = [
        DescribedMember(client, host, id_, [Partition(*partition) for partition in partitions])
        for client, host, id_, partitions in one["members"]
    ]
    return DescribedGroup(**{**one, "members": members})


def main() -> None:
    """Answer one question."""
    described = describe_groups(GroupsQuestion(*json.load(sys.stdin)))
    json.dump({name: one._asdict() for name, one in described.items()}, sys.stdout)


if __name__ == "__main__":
    main()
