"""Exit codes, the same for every command."""

DRAINED = 0
"""Done: the worker has drained, or the tool found nothing wrong."""
CRASHED = 1
"""The worker crashed or reached a limit; or a tool found a problem or got no answer."""
USER_ERROR = 2
"""The user must change something before a start can succeed: settings, file, port, locked folder, collection, model, topic,
installation."""
DRAIN_TIMEOUT = 3
"""The drain took too long, or a partition was revoked during it; what is not committed is read again."""
INTERRUPTED = 130
"""Ended by Ctrl-C or SIGTERM before it was done."""
