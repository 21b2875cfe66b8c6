"""What tests of the doctor compare its checks with."""

from worker.audit.doctor import CHECKS, Check, State


def says(check: Check, name: str, state: State, *words: str) -> None:
    """Check a check's state and its name, which its group has; that it comes with advice if all is not well; and that its text has these words."""
    assert (check.name, check.state) == (name, state), check
    assert check.name in dict(CHECKS)[check.group]
    assert bool(check.what_to_do) == (state != "ok")
    for word in words:
        assert word in f"{check.found} → {check.what_to_do}", check
