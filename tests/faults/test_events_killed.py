"""SIGKILL while several records become one entry and one record several: every line is read once, however it was read before.

Between two workers the room for open events, joining and formats change, and the group is moved back into events. By hand, with 200 kills
(a quarter of an hour on two idle cores): `python -m pytest --long -k 200 --log-cli-level INFO tests/faults/test_events_killed.py`.
"""

import logging
from collections.abc import Callable

import pytest

from tests.faults.event_lives import EventLives
from tests.faults.event_topics import EventTopics
from tests.faults.scene import Scene
from tests.services.kafka import KafkaServer

MANY = 200

_log = logging.getLogger(__name__)


@pytest.mark.timeout(7200)  # 200 kills on a machine that is busy with other things
@pytest.mark.parametrize(("kills", "seed"), [(4, 20_261), pytest.param(MANY, 20_262, marks=pytest.mark.long)])
def test_an_export_has_every_line_once_whenever_workers_are_killed_and_however_they_read_again(
    scene: Scene, kafka: KafkaServer, unique: Callable[[str], str], kills: int, seed: int
) -> None:
    topics = EventTopics(scene, kafka, unique)
    lives = EventLives(scene, topics, seed)
    for number in range(kills):
        lives.kill(number)
    lives.end()
    _log.info("%d records, at least %g events closed early", topics.size, lives.closed_early)
    assert lives.closed_early or kills < MANY
