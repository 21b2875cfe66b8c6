"""What tests of the doctor judge planted facts with, and compare the verdicts with."""

from collections.abc import Sequence

from worker.inspecting.doctor import Check, Facts, State, Verdict

Expected = tuple[State, str]
"""A state, and words of the finding or of what to do, with `|` between them."""


def judge(checks: Sequence[Check[Facts]], name: str, facts: Facts) -> Verdict:
    """Return the verdict of one check."""
    (verdict,) = [check.judge(facts) for check in checks if check.name == name]
    assert verdict is not None
    return verdict


def says(verdict: Verdict, state: State, words: str = "") -> None:
    """Check the state, that advice comes with what is not well, and that the text has these words (`|` between them)."""
    assert verdict.state == state, verdict
    assert bool(verdict.what_to_do) == (state != "ok"), verdict
    for word in words.split("|"):
        assert word in f"{verdict.found} → {verdict.what_to_do}", verdict
