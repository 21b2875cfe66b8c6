"""How a process of vectail ends, as a number for scripts and supervisors; the same for every verb."""

DRAINED = 0
"""Done: the worker has drained, the tool has found nothing wrong."""
CRASHED = 1
"""The worker crashed or reached a limit; a tool found a problem, or nobody answered it."""
USER_ERROR = 2
"""The user must change something before a start can succeed: settings, file, port, locked folder, collection, model, topic."""
DRAIN_TIMEOUT = 3
"""The drain was too short, or a partition was taken away meanwhile; what is not committed is read again."""
