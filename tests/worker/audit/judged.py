"""What tests of the doctor compare its checks with."""

from worker.audit.doctor import CHECKS, Check, State


def says(check: Check, name: str, state: State, *words: str) -> None:
    """Check state and name, which its group has; that advice comes with what is not well; and that the text has these words."""
    assert (check.name, check.state) == (name, state), check
    assert check.name in dict(CHECKS)[check.group]
    assert bool(check.what_to_do) == (state != "ok")
    for word in words:
        assert word in f"{check.found} → {check.what_to_do}", check
