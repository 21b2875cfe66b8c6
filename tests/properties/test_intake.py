"""The intake decides by the run of messages what the reference decides one by one, whatever the client delivers."""

from collections import Counter
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from consumers.kafka.executor import Executor
from consumers.kafka.kafka_client import KafkaClient
from consumers.kafka.resume_point import PartitionState, Position
from consumers.kafka.source_settings import KafkaSourceSettings
from consumers.record import Partition, Record
from tests.consumers.kafka.messages import Content, each_of
from tests.consumers.kafka.one_by_one import BAD_HEADER, DAMAGED, OneByOne, Spec

PLACES = [Partition("logs", 0), Partition("logs", 1), Partition("more", 0)]
POSITIONS = {PLACES[0]: Position(3, 1), PLACES[2]: Position(2, None)}
FAR = 1_000
TURN_S = 60.0
"""Longer than damaged data waits to be fetched again."""

places = st.sampled_from(PLACES)
steps = st.sampled_from([1, 1, 1, 1, 1, 1, 2, 5, 0, -1, -3, FAR])
"""From the offset of the message before it in its partition."""
errors = st.sampled_from([""] * 16 + ["_BAD_MSG", "_PARTITION_EOF", "_PARTITION_EOF", "_AUTO_OFFSET_RESET"])
later_leader = st.sampled_from([0, 0, 0, 0, 0, 0, 0, 1])
has_leader = st.sampled_from([True] * 7 + [False])
values = st.sampled_from([b"x", b"", None, b"a line"])
keys = st.sampled_from([None, None, None, b"", b"key"])
times = st.sampled_from([(1, 5), (2, 7), (0, 3)])
header_counts = st.sampled_from([0] * 6 + [1, 2])
bad_headers = st.sampled_from([False] * 9 + [True])
contents = st.builds(Content, values, keys, times, bad_headers)
drafts = st.tuples(places, steps, errors, later_leader, has_leader, contents, header_counts)
turns = st.lists(
    st.tuples(st.lists(drafts, max_size=25), st.sampled_from([True, True, True, False]), st.one_of(st.none(), places)), max_size=6
)
ends = st.sampled_from([-1, FAR, 12])
Draft = tuple[Partition, int, str, int, bool, Content, int]


class Deliveries:
    """Makes the messages: offsets and leader epochs go on where the partition's last message was."""

    def __init__(self) -> None:
        self._offset = dict.fromkeys(PLACES, 2)
        self._leader_epoch = dict.fromkeys(PLACES, 1)

    def one(self, draft: Draft) -> Spec:
        partition, step, error, later_leader, has_leader, content, headers = draft
        offset = max(self._offset[partition] + step, 0)
        if not error and step < FAR:
            self._offset[partition] = offset
        self._leader_epoch[partition] += (
            later_leader or not has_leader
        )  # an old format on both sides of which one leader wrote: there is none
        return Spec(partition, offset, error, self._leader_epoch[partition] if has_leader else None, content, headers)


class Real:
    """The intake behind its executor, and a client that obeys."""

    def __init__(self, end_offset: int) -> None:
        self.positions: Mapping[Partition, Position] | None = None
        self.calls: list[tuple[str, Partition, Position | None]] = []
        self.said: list[str] = []
        client = KafkaClient(
            ask_topic_ids=lambda _topics: {},
            ask_states=lambda partitions: dict.fromkeys(partitions, PartitionState(0, 0, 10 * FAR)),
            ask_positions=lambda _partitions: self.positions,
            end_of=lambda _partition: end_offset,
            move=lambda partition, position: self._tell("move", partition, position),
            check=lambda partition, position: self._tell("check", partition, position),
        )
        settings = KafkaSourceSettings(topic_epoch="e", on_expired_offset="earliest")
        self.executor = Executor(settings, client, say=self.said.append)

    def _tell(self, what: str, partition: Partition, position: Position | None) -> bool:
        self.calls.append((what, partition, position))
        return True

    def said_in_short(self) -> Counter[str]:
        def short(line: str) -> str:
            name = line.split(maxsplit=1)[0].rstrip(":")
            return f"{name} {BAD_HEADER if line.endswith(BAD_HEADER) else DAMAGED}"

        return Counter(short(line) for line in self.said)


def of_each(records: Sequence[Record]) -> dict[Partition, list[Record]]:
    return {place: [record for record in records if (record.topic, record.partition) == place] for place in PLACES}


@given(turns=turns, end_offset=ends)
def test_runs_of_messages_become_what_they_become_one_by_one(
    turns: list[tuple[list[Draft], bool, Partition | None]], end_offset: int
) -> None:
    real, reference, deliveries = Real(end_offset), OneByOne(end_offset), Deliveries()
    intake = real.executor.intake
    for number, (drafts, has_answer, revoked) in enumerate(turns):
        if revoked is not None and number:
            intake.end([revoked])
            reference.end(revoked)
        for place in PLACES if number == 0 else ():
            intake.begin([place], 0.0)
            reference.begin(place)
        real.positions = POSITIONS if has_answer else None
        specs = [deliveries.one(draft) for draft in drafts]
        placed = real.executor.take_turn([spec.message() for spec in specs], number * TURN_S, is_paused=False)
        reference.take_turn(specs, POSITIONS if has_answer else None)
        assert len({records.source for records in placed}) == len(placed), "each partition's records together"
        assert of_each(each_of(placed)) == of_each(reference.records)
        assert sorted(map(repr, real.calls)) == sorted(map(repr, reference.calls))
        assert real.said_in_short() == Counter(reference.said)
        assert (intake.reached(), intake.to_pause(everything=True)) == (reference.reached, reference.started)
        for place in PLACES:
            known = [intake.leader_epochs.before(place, offset) for offset in range(60)]
            assert known == [reference.leader_epochs.before(place, offset) for offset in range(60)]
        reference.records.clear()
        if revoked is not None and number % 2:
            intake.begin([revoked], number * TURN_S)
            reference.begin(revoked)
