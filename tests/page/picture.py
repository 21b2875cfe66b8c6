"""Takes the README's picture of the page over an hour of lines: `python -m tests.page.picture [FILE]` (default: docs/page.png).

A whole worker indexes the lines: synthetic ones, and a burst of declined payments that began a quarter of an hour ago.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from playwright.sync_api import expect

from producers.log_feed import synthetic_lines
from tests.page.parts import hits
from tests.page.real_worker import RealWorker
from tests.page.watched import Watched, chromium

PICTURE = Path(__file__).parents[2] / "docs" / "page.png"
MOST_BYTES = 250_000
QUESTION = "customers cannot pay"
WIDE, HIGH = 1180, 860
_MINUTES = 60
_SEED = 21
_REASONS = ("insufficient funds", "card expired", "do not honour")


def hour_of_lines(now_ms: int) -> Iterator[bytes]:
    """Yield lines of the last hour, minute by minute."""
    random = Random(_SEED)
    for minute in range(_MINUTES, 0, -1):
        start_ms = now_ms - minute * 60_000
        yield from synthetic_lines(_SEED + minute, random.randrange(55, 95), start_ms)
        if minute <= _MINUTES // 4:
            yield from (_declined(random, start_ms + random.randrange(60_000)) for _ in range(random.randrange(25, 60)))


def _declined(random: Random, time_ms: int) -> bytes:
    when = datetime.fromtimestamp(time_ms / 1000, tz=UTC).isoformat(timespec="milliseconds")
    order = f"ord-{random.randrange(10**6, 10**7)}"
    text = f"card ending in {random.randrange(1000, 10_000)} declined by the issuer for order {order}: {random.choice(_REASONS)}"
    return json.dumps({"time": when, "level": "error", "service": "payments", "message": text, "order": order}).encode()


def take(file: Path) -> int:
    """Write the picture and return its size in bytes; what no page may do is an error."""
    with tempfile.TemporaryDirectory(prefix="vectail-picture-") as folder, chromium() as browser:
        worker = RealWorker(Path(folder), lines=hour_of_lines(int(time.time() * 1000)))
        watched = Watched(browser)
        try:
            page = watched.open(f"{worker.url}/?q={QUESTION.replace(' ', '+')}&since=1h", width=WIDE, height=HIGH)
            expect(hits(page).first.locator("svg")).to_be_visible()
            page.wait_for_load_state("networkidle")
            page.screenshot(path=file)
        finally:
            watched.close("picture")
            worker.close()
    return file.stat().st_size


def main() -> None:
    """Take it, and refuse one that is too large for a README."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=PICTURE)
    size_bytes = take(parser.parse_args().file)
    if size_bytes > MOST_BYTES:
        raise SystemExit(f"the picture has {size_bytes:,} bytes, at most {MOST_BYTES:,} are for a README")


if __name__ == "__main__":
    main()
