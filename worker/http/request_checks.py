"""Checks of a request's headers, before anything of its body is read. Each raises HttpError or returns nothing.

The content type is checked for safety: a web page can make a browser send a form or plain text to us, but for `application/json` the
browser asks us for permission first, which we never give.
"""

import hmac
import ipaddress
from urllib.parse import urlsplit

from worker.http.responses import HttpError


def check_host(host: str | None) -> None:
    """Refuse a host name other than localhost, because DNS may point any name at this machine (DNS rebinding).

    An IP address cannot be rebound, so it passes; so does a request without `Host`, which no browser sends. Raises HttpError.
    """
    if host is not None and not _is_local(host):
        raise HttpError(421, "wrong_host", "call it localhost or 127.0.0.1, or set http.token", field="Host")


def check_token(authorization: str | None, token: str) -> None:
    """Refuse a request without `Bearer TOKEN`; with an empty `token` every request passes. Raises HttpError."""
    if not token:
        return
    scheme, _, given = (authorization or "").partition(" ")
    is_right = hmac.compare_digest(given.strip().encode("utf-8"), token.encode("utf-8"))
    if scheme.lower() != "bearer" or not is_right:
        challenge = {"WWW-Authenticate": "Bearer"}
        raise HttpError(401, "unauthorized", "the bearer token is missing or wrong", field="Authorization", headers=challenge)


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
    return HttpError(413, "too_large", f"the body is longer than {most_bytes} bytes (http.max_body_bytes)")


def _is_local(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ipaddress.ip_address(name))
    except ValueError:
        return False
