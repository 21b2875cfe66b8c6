"""The process as a whole: its exit codes, the same for every command, and the version of vectail that it runs."""

import functools

DRAINED = 0
"""Done: the worker has drained, or the tool found nothing wrong."""
CRASHED = 1
"""The worker crashed or reached a limit; or a tool found a problem or got no answer."""
USER_ERROR = 2
"""The user must change something before a start can succeed: settings, file, port, locked folder, collection, model, topic."""
DRAIN_TIMEOUT = 3
"""The drain took too long, or a partition was revoked during it; what is not committed is read again."""


@functools.cache
def vectail_version() -> str:
    """Return the version of the installed package."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - `vectail --help` need not load it

    try:
        return version("vectail")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0+unknown"
