"""Simulate a day and print what came of it: `python -m tests.deploy.autoscale [--json]`."""

import argparse
import json
import sys

from tests.deploy.autoscale.days import DAY, chart_behaviour, chart_formula
from tests.deploy.autoscale.simulated_day import Happened, live


def figures(happened: Happened) -> dict[str, object]:
    """Return what must hold of a day."""
    return {
        "partitions": DAY.partitions,
        "most_workers": max(after for _, _, after in happened.changes),
        "changes": len(happened.changes),
        "most_changes_in_an_hour": happened.most_in_an_hour(),
        "added_while_the_index_was_away": happened.out_during(DAY.index_away),
        "burst_caught_up_s": happened.drained_s(DAY.burst, since_end=False),
        "index_caught_up_s": happened.drained_s(DAY.index_away, since_end=True),
        "broker_caught_up_s": happened.drained_s(DAY.broker_away, since_end=True),
    }


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="autoscale", description="A simulated day of the chart's autoscaling.")
    parser.add_argument("--json", action="store_true", help="print one object, with every change")
    options = parser.parse_args()
    happened = live(DAY, chart_behaviour(), chart_formula())
    found = figures(happened)
    if options.json:
        changes = [{"at_s": at_s, "before": before, "after": after} for at_s, before, after in happened.changes]
        sys.stdout.write(json.dumps({**found, "every_change": changes}) + "\n")
        return 0
    for name, value in found.items():
        sys.stdout.write(f"{name:32}{value}\n")
    for at_s, before, after in happened.changes:
        sys.stdout.write(f"{at_s // 3600:02}:{at_s // 60 % 60:02}:{at_s % 60:02}  {before} -> {after}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
