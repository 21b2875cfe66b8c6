"""Makes what the tests of the chart need before they run: minutes, which no test's time limit has."""

import sys

from tests.deploy.kubernetes.go_programs import go_programs
from tests.deploy.kubernetes.schemas import schemas
from tests.services.missing import ServerMissing

if __name__ == "__main__":
    try:
        sys.stdout.write(f"chart tests: {go_programs()} {schemas()}\n")
    except ServerMissing as missing:
        sys.stderr.write(f"chart tests: {missing}\n")  # the tests fail or are skipped with the same words
