"""Checks of a request's headers, before anything of its body is read. Each raises HttpError or returns nothing.

The content type is checked for safety: a web page can make a browser send a form or plain text to us, but for `application/json` the
browser asks us for permission first, which we never give. Who asks is checked in `worker.serving.sign_in`.
"""

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from worker.serving.responses import HttpError

MAX_HEAD_BYTES = 16 * 1024
"""As h11 has it."""
_HEADER_BYTES = len(b": \r\n")
_OUR_SITES = frozenset({"none", "same-origin"})
"""`none`: a person typed the address or opened a bookmark."""


def check_head(path: bytes, query: bytes, headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuse a head that is too long; h11 counts only what it must keep, nothing of a head that comes whole. Raises HttpError."""
    if len(path) + len(query) + sum(len(name) + len(content) + _HEADER_BYTES for name, content in headers) > MAX_HEAD_BYTES:
        raise HttpError(431, "too_large", f"the request's head is longer than {MAX_HEAD_BYTES} bytes")


def check_host(host: str | None) -> None:
    """Refuse a host name other than localhost, because DNS may point any name at this machine (DNS rebinding).

    An IP address cannot be rebound, so it passes; so does a request without `Host`, which no browser sends. Raises HttpError.
    """
    if host is not None and not _is_local(host):
        raise HttpError(421, "wrong_host", "call it localhost or 127.0.0.1, or set http.token", field="Host")


def check_site(sent_from: str | None, origin: str | None, host: str | None) -> None:
    """Refuse a request that a browser makes for another site's page, a link or a download among them. Raises HttpError.

    `sent_from` is `Sec-Fetch-Site`, which a page cannot forge; `same-site` is another port or a neighbouring name. Where a browser sends
    none (plain HTTP to another machine), its `Origin` must have our host. Other clients send neither.
    """
    is_same_place = origin is None or (host is not None and _place_of(origin) == host.lower())
    is_ours = is_same_place if sent_from is None else sent_from in _OUR_SITES
    if not is_ours:
        field = "Origin" if sent_from is None else "Sec-Fetch-Site"
        raise HttpError(403, "cross_site", "another site's page may not ask; open the worker's own page", field=field)


def check_type(content_type: str | None) -> None:
    """Refuse any type but JSON. Raises HttpError."""
    if (content_type or "").partition(";")[0].strip().lower() != "application/json":
        raise HttpError(415, "wrong_type", "send it as application/json", field="Content-Type")


def check_length(content_length: str | None, most_bytes: int) -> None:
    """Refuse a body whose `Content-Length` is over the limit. Raises HttpError."""
    if content_length is not None and int(content_length) > most_bytes:
        raise too_long(most_bytes)


def too_long(most_bytes: int) -> HttpError:
    """Return the error for a body over the limit."""
    return HttpError(413, "too_large", f"the body is longer than {most_bytes} bytes")


def _place_of(origin: str) -> str | None:
    """Return host and port of an `Origin`, in lower case; None if it is malformed."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _is_local(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ipaddress.ip_address(name))
    except ValueError:
        return False
