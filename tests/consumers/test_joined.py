"""Whether a member has joined the group, even one that gets no partition."""

import time

from consumers.poller import JOINED_S
from tests.consumers.scene import Scene, idle


def test_a_member_has_joined_once_it_was_given_something_or_has_had_time_to() -> None:
    scene = Scene()
    assert not scene.poller.has_joined(time.monotonic() + 10**6), "it has not begun"
    scene.play(idle)
    assert scene.poller.has_joined(0.0)
    scene.poller.events.clear()
    assert not scene.poller.has_joined(time.monotonic())
    assert scene.poller.has_joined(time.monotonic() + JOINED_S)
