"""The options of `vectail search`, `templates` and `counts` that exclude lines: read, checked, and turned into a query's filters."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple

import typer

from worker.cli.filter_values import as_text, read_families, read_fields, read_templates, values_by_name

NotServiceOption = Annotated[list[str] | None, typer.Option(metavar="NAME", help="No lines of this service; may be repeated.")]
NotLevelOption = Annotated[list[str] | None, typer.Option(metavar="NAME", help="No lines of this level; may be repeated.")]
NotTopicOption = Annotated[list[str] | None, typer.Option(metavar="NAME", help="No lines of this topic; may be repeated.")]
NotTemplateOption = Annotated[
    list[str] | None, typer.Option(metavar="ID", help="No lines of this template, named by its id; may be repeated.")
]
NotFamilyOption = Annotated[
    list[str] | None, typer.Option(metavar="ID", help="No lines of this family of templates, named by its id; may be repeated.")
]
NotFieldOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="No lines with this value of a kept field; may be repeated.")
]


class Exclusions(NamedTuple):
    """What the user gave; empty: not given.

    Thread: any.
    """

    services: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    """Ids."""
    families: tuple[str, ...] = ()
    """Ids."""
    fields: tuple[tuple[str, str], ...] = ()
    """Names and values."""

    def filters(self) -> dict[str, Any]:
        """Return them as filters of a query, those that are not given as empty ones."""
        return {
            "not_service": list(self.services),
            "not_level": list(self.levels),
            "not_topic": list(self.topics),
            "not_template": list(self.templates),
            "not_family": list(self.families),
            "not_fields": values_by_name(self.fields),
        }

    def options(self) -> dict[str, tuple[object, ...]]:
        """Return what was given by the names of the options."""
        names = ("--not-service", "--not-level", "--not-topic", "--not-template", "--not-family", "--not-field")
        return dict(zip(names, self, strict=True))


NO_EXCLUSIONS: Final = Exclusions()


_Given = Sequence[str] | None


def read_exclusions(
    services: _Given = None,
    levels: _Given = None,
    topics: _Given = None,
    families: _Given = None,
    fields: _Given = None,
    templates: _Given = None,
) -> Exclusions:
    """Read what the options hold; None: not given. Raises CommandFailed."""
    return Exclusions(
        tuple(map(as_text, services or ())),
        tuple(map(as_text, levels or ())),
        tuple(map(as_text, topics or ())),
        read_templates(templates or (), option="--not-template"),
        read_families(families or (), option="--not-family"),
        read_fields([as_text(one) for one in fields or ()], option="--not-field"),
    )
