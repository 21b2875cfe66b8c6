"""What a page of the worker's own is to the server: the accepted types in, an answer out."""

from collections.abc import Callable
from typing import NamedTuple


class Answer(NamedTuple):
    """What goes out.

    Thread: any.
    """

    status: int
    body: bytes
    content_type: str


Page = Callable[[str], Answer]
"""Takes the request's `Accept` header, empty without one; called on any of the server's threads, must not wait for anything outside."""
