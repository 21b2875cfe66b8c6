"""Authentication: by the token, or by the cookie that a browser got for it.

The cookie is `EXPIRY.SIGNATURE`. Its key is derived from the token, so it holds on every worker with that token, dies with it, and needs
no memory; a stolen one says nothing of the token that guessing could test quickly. A browser sends it by itself, also when another
page on the same host makes it ask (`SameSite` does not tell ports apart): so what writes needs a value that only our own page can read.
"""

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Final

from worker.serving.responses import HttpError, retry_after

COOKIE: Final = "vectail_session"
CSRF_HEADER: Final = "X-Vectail-CSRF"
SESSION_S: Final = 12 * 60 * 60
"""How long a sign-in lasts."""
MOST_FAILED: Final = 10
"""Wrong tokens that one address may send at once; then one each `FAILED_EACH_S`."""
FAILED_EACH_S: Final = 6.0
_MOST_ADDRESSES = 1_000
_SALT = b"vectail session"


class SignIn:
    """Knows the token, and makes and checks what stands for it.

    Thread: the event loop.
    """

    def __init__(self, token: str, *, wall_s: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic) -> None:
        """With an empty token everybody is let in."""
        self._token = token
        self._wall_s = wall_s
        self._failed = _FailedTries(clock)

    @property
    def needs_token(self) -> bool:
        """Whether there is a token."""
        return bool(self._token)

    def check(self, headers: Mapping[str, str], *, writes: bool = False) -> None:
        """Refuse a request that has neither the token nor a cookie for it. Raises HttpError.

        One that `writes` with a cookie needs the value of `csrf_of` as well.
        """
        if not self._token or self._has_token(headers.get("authorization")):
            return
        cookie = cookie_of(headers.get("cookie"))
        if headers.get("authorization") is not None or not self._is_valid(cookie):
            challenge = {"WWW-Authenticate": "Bearer"}
            reason = "sign in, or send the token as a bearer token"
            raise HttpError(401, "unauthorized", reason, field="Authorization", headers=challenge)
        given = headers.get(CSRF_HEADER.lower(), "")
        if writes and not hmac.compare_digest(given.encode("utf-8"), self.csrf_of(cookie).encode("ascii")):
            raise HttpError(403, "wrong_csrf", f"what writes needs the value of GET /api/session in {CSRF_HEADER}", field=CSRF_HEADER)

    def is_signed_in(self, headers: Mapping[str, str]) -> bool:
        """Whether the request has the token or a cookie for it, or needs none."""
        return not self._token or self._has_token(headers.get("authorization")) or self._is_valid(cookie_of(headers.get("cookie")))

    def csrf_of(self, cookie: str) -> str:
        """Return the value that goes with a cookie; empty without a valid one."""
        return self._signature("csrf", cookie) if self._token and self._is_valid(cookie) else ""

    def new_cookie(self, token: object, address: str) -> str:
        """Return a cookie in exchange for the token. Raises HttpError: wrong, or too many wrong ones from that address."""
        wait_s = self._failed.wait_s(address)
        if wait_s > 0:
            raise HttpError(429, "too_many", "too many wrong tokens from your address", headers=retry_after(int(wait_s) + 1))
        given = token if isinstance(token, str) else ""
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode("utf-8")):
            self._failed.add(address)
            raise HttpError(401, "wrong_token", "that is not this worker's token", field="token")
        expiry = str(int(self._wall_s()) + SESSION_S)
        return f"{expiry}.{self._signature('session', expiry)}"

    def _has_token(self, authorization: str | None) -> bool:
        scheme, _, given = (authorization or "").partition(" ")
        is_right = hmac.compare_digest(given.strip().encode("utf-8"), self._token.encode("utf-8"))
        return scheme.lower() == "bearer" and is_right

    def _is_valid(self, cookie: str) -> bool:
        expiry, _, signature = cookie.partition(".")
        is_right = hmac.compare_digest(signature.encode("utf-8"), self._signature("session", expiry).encode("ascii"))
        return is_right and int(expiry) > self._wall_s()

    def _signature(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()

    @cached_property
    def _key(self) -> bytes:
        return hashlib.scrypt(self._token.encode("utf-8"), salt=_SALT, n=1 << 12, r=8, p=1)  # takes 10 ms


def cookie_of(header: str | None) -> str:
    """Return our cookie of a request's `Cookie` header; empty if there is none."""
    pairs = (part.strip().partition("=") for part in (header or "").split(";"))  # other programs on this host have cookies of any form
    return next((value for name, _, value in pairs if name == COOKIE), "")


def set_cookie(value: str, *, secure: bool) -> str:
    """Return the header that gives a browser the cookie, and with an empty value takes it away."""
    age = f"Max-Age={SESSION_S if value else 0}"
    return f"{COOKIE}={value}; {age}; Path=/; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")


class _FailedTries:
    """Counts wrong tokens by address, so that one address cannot try many and no other is kept out by it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._full_s: OrderedDict[str, float] = OrderedDict()
        """Until when the failures of an address count, the latest to fail last: each adds `FAILED_EACH_S`."""

    def wait_s(self, address: str) -> float:
        """Return how long the address must wait before it may try again; at most `FAILED_EACH_S`."""
        return self._full_s.get(address, 0.0) - self._clock() - (MOST_FAILED - 1) * FAILED_EACH_S

    def add(self, address: str) -> None:
        """Count a wrong token."""
        self._full_s[address] = max(self._full_s.pop(address, 0.0), self._clock()) + FAILED_EACH_S
        if len(self._full_s) > _MOST_ADDRESSES:
            self._full_s.popitem(last=False)
