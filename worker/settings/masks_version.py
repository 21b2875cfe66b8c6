"""The version of the masks that settings name: it stands in each block, in `vectail version`, `vectail_build_info` and in reports."""

from functools import lru_cache
from typing import TYPE_CHECKING

from consumers.text.word_patterns import MASKS_VERSION
from worker.settings.tables import MaskTable, new_masker

if TYPE_CHECKING:
    from worker.settings.settings import Settings


@lru_cache(maxsize=64)
def masks_version(table: MaskTable | None = None) -> str:
    """Return the version of the masks; None: of the built-in ones, which needs no Arrow."""
    return str(MASKS_VERSION) if table is None else new_masker(table).version


def topic_masks_version(settings: "Settings", topic: str) -> str:
    """Return the version of the masks that hold for a topic."""
    return masks_version(settings.masks_of(topic))
