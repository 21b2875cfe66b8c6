"""The template and the family of each line, by a masker of ours."""

from collections.abc import Sequence
from typing import NamedTuple

from consumers.columns import string_column
from consumers.text.families import family_of
from consumers.text.mask import MASKS, Masker
from consumers.text.mask_patterns import VERSION_2_MASKS


class Grouped(NamedTuple):
    """Of each of n lines its template text and the id of its family."""

    templates: list[str]
    families: list[str]


def new_masker() -> Masker:
    """Return a masker with today's masks."""
    return Masker()


def version_2_masker() -> Masker:
    """Return a masker with the masks of version 2, and no others."""
    return Masker(disabled=[mask.name for mask in MASKS if mask.name not in VERSION_2_MASKS])


def group(masker: Masker, texts: Sequence[str], batch_lines: int) -> Grouped:
    """Mask the texts in batches and find the families of the templates."""
    templates: list[str] = []
    for start in range(0, len(texts), batch_lines):
        masked = masker.mask_column(string_column(texts[start : start + batch_lines]))
        templates += [masked.values[code] for code in masked.codes.tolist()]
    family = {template: family_of(template) for template in dict.fromkeys(templates)}
    return Grouped(templates, [family[template] for template in templates])
