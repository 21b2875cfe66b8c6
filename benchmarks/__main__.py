"""`python -m benchmarks`: the suite; see `benchmarks.suite.suite`."""

import signal
import sys

from benchmarks.suite.suite import main

if __name__ == "__main__":
    # As with Ctrl-C, so that the benchmark that runs now ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
