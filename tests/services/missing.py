"""Handles a missing server: skips the test with the reason, or fails it in CI."""

import os
from typing import NoReturn

import pytest


class ServerMissing(Exception):
    """A server cannot be started here; the message says what is missing."""


def skip_or_fail(reason: str) -> NoReturn:
    """Skip the test, or fail it under `CI=true`: a green CI must not hide a missing server."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason} (CI=true: this is a failure, not a skip)", pytrace=False)
    pytest.skip(reason)


def named_address(variable: str) -> str:
    """Return the address of the server that the environment names. Raises ServerMissing."""
    if (address := os.environ.get(variable)) is None:
        raise ServerMissing(f"{variable} names none")
    return address
