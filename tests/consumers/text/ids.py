"""The ids that a worker gives lines; as a program for another hash seed it reads lines as a JSON list and prints the ids of each."""

import json
import sys
from collections.abc import Sequence

from consumers.columns import string_column
from consumers.text.families import family_of
from consumers.text.mask import Masker
from tests.template_ids import id_of


def ids_of(masker: Masker, lines: Sequence[str], batch_lines: int) -> list[tuple[str, str]]:
    """Return template id and family id of each line, masked in batches."""
    ids: list[tuple[str, str]] = []
    for start in range(0, len(lines), batch_lines):
        masked = masker.mask_column(string_column(lines[start : start + batch_lines]))
        of = [(id_of(text), family_of(text)) for text in masked.values]
        ids += [of[code] for code in masked.codes.tolist()]
    return ids


if __name__ == "__main__":
    given = json.load(sys.stdin)
    json.dump(ids_of(Masker(), given, len(given)), sys.stdout)
