"""`vectail masks diff`: what a change of masks would do to the templates of your lines, before it is made.

It reads files and masks their lines under both sets; it needs no model, no Kafka and no index. `--json` prints what `diff_masks` returns.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from consumers.text.mask import MASKS
from consumers.text.mask_patterns import NEW_IN_VERSION_5, VERSION_2_MASKS
from producers.file_lines import FileUnreadable
from worker.cli.exits import user_error
from worker.cli.options import settings_or_fail
from worker.cli.output import warn
from worker.cli.verb_options import DiffOptions
from worker.estimate.line_sampling import LineSample
from worker.estimate.sample_texts import SampleTexts
from worker.masks.mask_difference import MaskDifference, Regrouping
from worker.runtime.logs import configure_logs
from worker.settings.masks_version import masks_version
from worker.settings.settings import Settings
from worker.settings.tables import MaskTable, new_masker

MOST_PARTS: Final = 20
"""Templates told of each group; the rest are counted."""

DEFAULT: Final = "default"
"""Instead of a settings file: the built-in masks."""
LATER_MASKS: Final[Mapping[str, tuple[str, ...]]] = {
    DEFAULT: (),
    "4": NEW_IN_VERSION_5,
    "2": tuple(mask.name for mask in MASKS if mask.name not in VERSION_2_MASKS),
}
"""By what stands instead of a settings file, the built-in masks that are off. Version 2 took out numbers, ids and addresses only."""


def diff_masks(options: DiffOptions) -> dict[str, object]:
    """Mask a sample of the lines under both sets and return what `--json` prints. Raises CommandFailed."""
    configure_logs(quiet=True)
    old, new = _settings(options.old), _settings(options.new)
    # Both sets mask the same texts: redaction and decoding are those of the new settings, or of the old where the new ones are built in.
    reading = new or old or Settings()
    topic = options.topic or next((one.name for one in reading.topic if one.name), "logs")
    tables = _masks(options.old, old, topic), _masks(options.new, new, topic)
    maskers = [new_masker(table) for table in tables]
    difference = MaskDifference()
    try:
        sample = LineSample(options.files, sample_lines=options.sample, max_record_bytes=reading.decode.max_record_bytes, say=warn)
        texts = SampleTexts(reading, topic)
        for stretches in sample.lists():
            read = texts.read([line for stretch in stretches for line in stretch.lines if line is not None])
            difference.add_lines(*(masker.mask_column(read.of(table)) for table, masker in zip(tables, maskers, strict=True)))
    except FileUnreadable as error:
        raise user_error(error) from error
    merged, split = difference.merged(), difference.split()
    return {
        "files": len(sample.files),
        "basis": sample.basis,
        "topic": topic,
        "lines": texts.lines,
        "entries": texts.entries,
        "left_out": texts.left_out,
        "old": {"name": options.old, "masks": masks_version(tables[0]), "templates": difference.old_templates},
        "new": {"name": options.new, "masks": masks_version(tables[1]), "templates": difference.new_templates},
        "changed_lines": difference.changed_lines,
        "renamed_templates": difference.renamed_templates(),
        "merged": _groups(merged, options.k),
        "split": _groups(split, options.k),
    }


def _settings(source: str) -> Settings | None:
    """Return the settings that a user named; None for built-in masks. Raises CommandFailed."""
    return None if source in LATER_MASKS else settings_or_fail(Path(source))


def _masks(source: str, settings: Settings | None, topic: str) -> MaskTable:
    if settings is not None:
        return settings.masks_of(topic)
    return MaskTable(disabled=LATER_MASKS[source])


def _groups(found: Sequence[Regrouping], most: int) -> dict[str, object]:
    return {
        "templates": len(found),
        "parts": sum(len(group.parts) for group in found),
        "lines": sum(group.lines for group in found),
        "groups": [
            {
                "template": group.template,
                "lines": group.lines,
                "parts": len(group.parts),
                "largest": [{"template": part.template, "lines": part.lines} for part in group.parts[:MOST_PARTS]],
            }
            for group in found[:most]
        ],
    }
