"""The tables of the settings file that give templates a name: `[[template]]`.

`worker.querying.template_groups` applies them when templates are read, in the order of the file, the first that fits holds. They change no
template's id and no vector, and need no new index.
"""

from typing import Annotated

from pydantic import AfterValidator, Field

from worker.settings.tables import Table
from worker.settings.topic_tables import Pattern


def check_name(name: str) -> str:
    """Return the name. Raises ValueError unless a person can tell it from every other by reading it."""
    if not name.isprintable() or name != name.strip():
        raise ValueError(f"{name!r} is no name: use printable characters, and no space at either end")
    return name


class TemplateTable(Table):
    """A name for templates. Those of one name are shown and counted as one."""

    name: Annotated[str, Field(min_length=1, max_length=64), AfterValidator(check_name)]
    """What people call them."""
    pattern: Pattern
    """What must be found in the text of the template, which `vectail templates --expand` shows."""
