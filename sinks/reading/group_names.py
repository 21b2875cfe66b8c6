"""By what lines can be counted: names that questions use, too, so this loads no library."""

from typing import Final

GroupBy = str
"""`time`, `template`, `service`, `level`, `topic`, `FIELD` with the name of a kept field, or `FIELD_NAMES`."""
FIELD: Final = "field:"
FIELD_NAMES: Final = "field"
"""By the names of the kept fields, and nothing else: a line counts once for each of its fields."""
