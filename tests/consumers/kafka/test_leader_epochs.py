"""Leader epochs are known only where accepted records prove them."""

import pytest

from consumers.kafka.leader_epochs import LeaderEpochs
from consumers.record import Partition

LOGS = Partition("logs", 0)
OTHER = Partition("logs", 1)


@pytest.fixture
def epochs() -> LeaderEpochs:
    """Records 3, 4 and 7 of leader epoch 1, then a transaction's marker at 8, then 9 and 10 of leader epoch 4."""
    noted = LeaderEpochs()
    for offset, leader_epoch in ((3, 1), (4, 1), (7, 1), (9, 4), (10, 4)):
        noted.note_records(LOGS, offset, offset, leader_epoch)
    return noted


def test_a_next_offset_has_the_leader_epoch_of_the_record_before_it(epochs: LeaderEpochs) -> None:
    assert [epochs.before(LOGS, offset) for offset in (4, 5, 6, 8, 10, 11)] == [1, 1, 1, 1, 4, 4]


def test_where_no_record_proves_it_there_is_none(epochs: LeaderEpochs) -> None:
    assert [epochs.before(LOGS, offset) for offset in (0, 3, 9, 12)] == [None] * 4, "the marker at 8 may be of either leader"
    assert epochs.before(OTHER, 4) is None


def test_records_without_a_leader_epoch_prove_nothing(epochs: LeaderEpochs) -> None:
    epochs.note_records(OTHER, 0, 0, None)
    assert epochs.before(OTHER, 1) is None


def test_a_start_elsewhere_forgets_what_was_read_and_knows_what_it_was_told(epochs: LeaderEpochs) -> None:
    epochs.start_at(LOGS, 5, 1)
    assert [epochs.before(LOGS, offset) for offset in (4, 5, 10)] == [None, 1, None]
    epochs.start_at(LOGS, 5, None)
    assert epochs.before(LOGS, 5) is None


def test_an_assignment_that_ends_takes_its_epochs_with_it(epochs: LeaderEpochs) -> None:
    epochs.note_records(OTHER, 0, 0, 2)
    epochs.drop([LOGS])
    assert (epochs.before(LOGS, 4), epochs.before(OTHER, 1)) == (None, 2)
