"""What a worker reports about itself: pages, documents and actions, independent of what serves them."""

from collections.abc import Callable, Mapping
from typing import NamedTuple


class PageText(NamedTuple):
    """A page, such as `/metrics`."""

    body: bytes
    content_type: str
    is_good: bool = True
    """False: what it says is that the worker is not well."""


Page = Callable[[str], PageText]
"""Renders a page for a request's `Accept` header, empty without one. Called on any thread of the server; must not wait for I/O."""

Document = Callable[[Mapping[str, str]], Mapping[str, object]]
"""Makes a JSON object for the parameters of a URL. Called on any thread of the server, for one request at a time; may wait for I/O for a
few seconds. Raises Refused."""

Action = Callable[[Mapping[str, object]], Mapping[str, object]]
"""Does what a JSON object asks for and returns a JSON object; otherwise like a `Document`."""
