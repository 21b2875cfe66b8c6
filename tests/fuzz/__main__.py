"""`python -m tests.fuzz [--seconds S] [TARGET …]`: fuzz each target in a process of its own, one after the other; `make fuzz` calls it.

The values that reach new code are kept in .cache/fuzz and are where the next run begins. Exit code 1 if there is a finding: a value for
which a check or a decoder fails, that crashes the process, that takes more than ten seconds or 2 GiB.
"""

import argparse
import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.targets import MOST_BYTES, TARGETS

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "fuzz"
_MOST_SECONDS_OF_A_VALUE = 10
_MOST_MEMORY_MIB = 2_048
_GRACE_S = 120
"""For the start, and for what is kept of earlier runs."""
_TAIL_LINES = 15


class Outcome(NamedTuple):
    """What became of one target."""

    target: str
    executions: int
    covered: int
    """Edges of the source."""
    findings: list[Path]
    failure: str
    """The last lines of a process that ended early; empty if it did not."""


def fuzz(target: str, seconds: int) -> Outcome:
    corpus, findings = CACHE / "corpus" / target, CACHE / "findings" / target
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    for old in findings.iterdir():
        old.unlink()
    for seed in TARGETS[target]().seeds:
        (corpus / hashlib.sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={MOST_BYTES}",
        f"-timeout={_MOST_SECONDS_OF_A_VALUE}",
        f"-rss_limit_mb={_MOST_MEMORY_MIB}",
        f"-artifact_prefix={findings}/",
        "-print_final_stats=1",
        "-len_control=0",
        "-reload=0",
    ]
    program = [sys.executable, "-m", "tests.fuzz.one", target, str(findings), *options, str(corpus)]
    try:
        ran = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=seconds + _GRACE_S, check=False)
    except subprocess.TimeoutExpired:
        return Outcome(target, 0, 0, sorted(findings.iterdir()), "it does not end")
    executions = _number(r"number_of_executed_units: (\d+)", ran.stderr) or _number(r"#(\d+)\t", ran.stderr)
    failure = "\n".join(ran.stderr.splitlines()[-_TAIL_LINES:]) if ran.returncode else ""
    return Outcome(target, executions, _number(r" cov: (\d+)", ran.stderr), sorted(findings.iterdir()), failure)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"one of {', '.join(TARGETS)}; all of them if none is given")
    given = parser.parse_args()
    unknown = [target for target in given.targets if target not in TARGETS]
    if unknown:
        parser.error(f"no target {', '.join(unknown)}: {', '.join(TARGETS)}")
    has_finding = False
    for target in given.targets or TARGETS:
        outcome = fuzz(target, given.seconds)
        sys.stdout.write(f"{target:13} {outcome.executions:9,} executions {outcome.covered:7,} edges {len(outcome.findings)} findings\n")
        sys.stdout.writelines(f"    {file.relative_to(ROOT)}\n" for file in outcome.findings)
        if outcome.failure:
            sys.stdout.write(f"{outcome.failure}\n")
        sys.stdout.flush()
        has_finding |= bool(outcome.findings or outcome.failure)
    return int(has_finding)


def _number(pattern: str, output: str) -> int:
    """Return the last number that a pattern finds; 0 if it finds none."""
    found = re.findall(pattern, output)
    return int(found[-1]) if found else 0


if __name__ == "__main__":
    sys.exit(main())
