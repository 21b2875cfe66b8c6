"""`vectail masks list`: the built-in masks, and the user's own, as the settings have them."""

from collections.abc import Collection
from typing import Any

from consumers.text.mask import MASKS, Masker
from worker.cli.masks_examples import EXAMPLES
from worker.estimate.sample_texts import mask_table
from worker.settings.masks_version import masks_version
from worker.settings.settings import Settings


def list_masks(settings: Settings, topic: str | None) -> dict[str, Any]:
    """Return what `--json` prints: the masks that hold for a topic, None: for all that have no masks of their own."""
    table = settings.mask if topic is None else mask_table(settings, topic)
    return {
        "mode": table.mode,
        "version": masks_version(table),
        "masks": [_built_in(mask.name, is_on=mask.name not in table.disabled and table.mode == "template") for mask in MASKS],
        "added": [
            {"name": mask.name, "pattern": mask.pattern, "replacement": mask.replacement, "on": table.mode == "template"}
            for mask in table.add
        ],
    }


def _built_in(name: str, *, is_on: bool) -> dict[str, Any]:
    example = EXAMPLES.get(name)
    if example is None:
        return {"name": name, "on": is_on, "removes": "", "example": "", "becomes": ""}
    return {
        "name": name,
        "on": is_on,
        "removes": example.removes,
        "example": example.text,
        "becomes": _masked({name, *example.needs}, example.text),
    }


def _masked(names: Collection[str], text: str) -> str:
    """Return the text under these masks alone."""
    (masked,) = Masker(disabled=[mask.name for mask in MASKS if mask.name not in names]).mask([text])
    return masked
