"""Asks the client what the intake must know, and carries out what it decides.

`consumers.kafka.kafka_source` passes in what each poll returned and the calls that its client allows (`consumers.kafka.kafka_client`). All
calls and questions are made here, and all decisions in `consumers.kafka.intake`. A question without an answer is asked again by the next
turn, so that none blocks polling for long.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from consumers.kafka.actions import Action, Assigned, CheckPosition, Lost, MovePosition, Say
from consumers.kafka.epochs import TopicEpochs
from consumers.kafka.intake import Intake
from consumers.kafka.kafka_client import KafkaClient
from consumers.kafka.message import ClientMessage
from consumers.kafka.message_runs import runs_of
from consumers.kafka.source_settings import KafkaSourceSettings
from consumers.record import Partition, Records
from consumers.source import Rebalance


class Executor:
    """After each turn everything that the intake wanted is done, or noted as refused.

    Thread: one, its source's.
    """

    def __init__(self, settings: KafkaSourceSettings, client: KafkaClient, *, say: Callable[[str], None]) -> None:
        self._client = client
        self._say = say
        self._rebalance: Rebalance | None = None
        self._epochs = TopicEpochs(fixed=settings.topic_epoch, ask=client.ask_topic_ids, say=say)
        self.intake = Intake(settings, self._epochs)

    def subscribe(self, rebalance: Rebalance) -> None:
        """Tell `rebalance` when a topic was re-created or a log truncated: its partitions are lost, and assigned again."""
        self._rebalance = rebalance

    def take_turn(self, messages: Sequence[ClientMessage], now_s: float, *, is_paused: bool) -> list[Records]:
        """Take in what a poll returned, resume stopped partitions, fetch damaged data again; return records that may leave.

        While it `is_paused`, only what the room of an earlier turn has left. Raises SourceFatal, SourceExpired, TopicWithoutId.
        """
        intake = self.intake
        runs = runs_of(messages)
        if (wanted := intake.positions_wanted(runs)) and (positions := self._client.ask_positions(wanted)) is not None:
            intake.note_positions(positions)
        ends = {partition: self._client.end_of(partition) for partition in {run.partition for run in runs} & intake.assigned}
        self._carry_out(intake.take(runs, ends, now_s), now_s)
        self._epochs.refresh_epochs(intake.waiting_topics(), now_s)
        self._carry_out(intake.begin_recreated(now_s), now_s)
        self._carry_out(intake.fetch_again(now_s), now_s)
        self._resume_stopped(now_s)
        placed, actions = intake.place(is_paused=is_paused)
        self._carry_out(actions, now_s)
        return placed

    def begin_again(self, next_offsets: Mapping[Partition, int], now_s: float) -> dict[Partition, int]:
        """Read partitions again from these offsets, or the first that Kafka holds; return where each begins, as far as that is known."""
        readable = [partition for partition in next_offsets if not self.intake.has_stopped(partition)]
        begins: dict[Partition, int] = {}
        for partition, state in self._client.ask_states(readable).items() if readable else ():
            begins[partition] = max(next_offsets[partition], state.first_offset)
            self.intake.begin_again(partition, begins[partition], now_s)
        return begins

    def sure(self, next_offsets: Mapping[Partition, int], came_s: float, now_s: float) -> dict[Partition, int]:
        """Keep the offsets whose topic is known not to have been re-created by `came_s`; unassigned partitions pass unchecked."""
        self._epochs.refresh_epochs(dict.fromkeys({partition.topic for partition in next_offsets}, came_s), now_s, is_quiet=True)
        return self.intake.sure(next_offsets, came_s)

    def _resume_stopped(self, now_s: float) -> None:
        """Resume stopped partitions; the first one that cannot be moved now ends it.

        Their states are asked for together: an answer waits behind what the client fetches, up to half a second, and a new group's first
        assignment stops every partition.
        """
        if not (stopped := self.intake.stopped_partitions()):
            return
        for partition, state in self._client.ask_states(stopped).items():
            self._carry_out(self.intake.resume(partition, state), now_s)
            if self.intake.has_stopped(partition):
                return

    def _carry_out(self, actions: Sequence[Action], now_s: float) -> None:
        for action in actions:
            match action:
                case Say(line):
                    self._say(line)
                case MovePosition(partition, position):
                    is_done = self._client.move(partition, position)
                    self._carry_out(self.intake.moved(partition, is_done=is_done), now_s)
                case CheckPosition(partition, position):
                    if not self._client.check(partition, position):
                        self.intake.not_checked(partition, now_s)
                case Lost(partitions):
                    if self._rebalance is not None:
                        self._rebalance.on_lost(partitions)
                case Assigned(partitions):
                    if self._rebalance is not None:
                        self._rebalance.on_assign(partitions)
                case _:
                    assert_never(action)
