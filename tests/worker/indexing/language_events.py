"""Events of each language as their runtimes print them (tests/golden/events): lines between two `====` are one event."""

import re
from pathlib import Path
from typing import Final

from worker.indexing.event_languages import LANGUAGES, Start

_FOLDER: Final = Path(__file__).parents[2] / "golden" / "events"
BLOCKS: Final[dict[Start, str]] = {start: (_FOLDER / f"{start}.txt").read_text(encoding="utf-8") for start in LANGUAGES}
LINES: Final = {start: re.sub(r"(?m)^====\n", "", text).splitlines() for start, text in BLOCKS.items()}
