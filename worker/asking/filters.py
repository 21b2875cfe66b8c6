"""Which lines a question is about: the filters, declared here and nowhere else.

Options of the command line, arguments of MCP tools and `/openapi.json` are made of `Filters`. Filters are untrusted input: each is typed
and bounded, and a value, never an expression.
"""

from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sinks.reading.tally import FIELD
from worker.asking.moments import MOST_MS

TRACE_FIELD = "trace_id"
"""The field that the filter `trace_id` asks for."""
LABEL_CHARACTERS = 256
EXCLUDES: Final = "not_"
"""What the name of a filter that excludes begins with."""

Label = Annotated[str, Field(max_length=LABEL_CHARACTERS)]
TemplateId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
FamilyId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
TimeMs = Annotated[int, Field(ge=-MOST_MS, le=MOST_MS)]
"""Milliseconds since 1970, far inside 64 bits."""


class Of(NamedTuple):
    """What a filter looks at, in words: "Only lines of this …", "Only lines of these …", and what one value of it is."""

    one: str
    many: str
    value: str = "NAME"
    example: str = ""
    """Said where the filter is wanted, and not again where it excludes."""


def _as_texts(value: object) -> object:
    """Return the values of a filter as a list of texts: a single one, a number and a boolean may be given as they are."""
    from sinks.field_pairs import field_text  # noqa: PLC0415 - the command line reads this file for its options

    values = value if isinstance(value, list) else [value]
    return [str(one) if type(one) is int else field_text(one) if isinstance(one, float | bool) else one for one in values]


FieldTexts = Annotated[list[Label], BeforeValidator(_as_texts), Field(min_length=1, max_length=100)]
"""Values of a field; a number or a boolean is the text that JSON writes for it."""
_Services = Annotated[list[Label], Field(max_length=100), Of("service", "services")]
_Levels = Annotated[list[Label], Field(max_length=100), Of("level", "levels", example="TRACE, DEBUG, INFO, WARN, ERROR, FATAL")]
_Topics = Annotated[list[Label], Field(max_length=100), Of("topic", "topics")]
_Templates = Annotated[list[TemplateId], Field(max_length=1000), Of("template, named by its id", "templates, named by their ids", "ID")]
_Families = Annotated[
    list[FamilyId], Field(max_length=100), Of("family of templates, named by its id", "families, named by their ids", "ID")
]
_Fields = Annotated[
    dict[Label, FieldTexts],
    Field(max_length=16),
    Of("value of a kept field", "values of kept fields", "NAME=VALUE", 'a text or a list: {"k8s.pod.name": "web-1"}'),
]


class Filters(BaseModel):
    """Which lines may be hits: a line must match every filter that is set, and none that excludes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    since_ms: TimeMs | None = None
    until_ms: TimeMs | None = None
    service: _Services = []
    level: _Levels = []
    topic: _Topics = []
    template: _Templates = []
    family: _Families = []
    fields: _Fields = {}
    """Names of kept fields, each with the value, or a list of values of which a line must have one."""
    trace_id: Annotated[Label | None, Of("trace", "trace", "ID")] = None
    """The value of the field of that name, which is not among `fields` then."""
    not_service: _Services = []
    not_level: _Levels = []
    not_topic: _Topics = []
    not_template: _Templates = []
    not_family: _Families = []
    not_fields: _Fields = {}

    def without(self, grouping: str) -> "Filters":
        """Return all filters but those on one label, or on one `field:NAME`."""
        if not grouping.startswith(FIELD):
            return self.model_copy(update={grouping: [], f"{EXCLUDES}{grouping}": []})
        of_fields = {}
        for name in ("fields", f"{EXCLUDES}fields"):
            of_fields[name] = {field: values for field, values in getattr(self, name).items() if field != grouping.removeprefix(FIELD)}
        return self.model_copy(update=of_fields | ({"trace_id": None} if grouping == f"{FIELD}{TRACE_FIELD}" else {}))

    @property
    def names_templates(self) -> bool:
        """Whether templates or families are wanted, or excluded."""
        return bool(self.template or self.family or self.not_template or self.not_family)


FILTERS: Final = {name: of for name, field in Filters.model_fields.items() for of in field.metadata if isinstance(of, Of)}
"""What each filter looks at, by its name; the ends of the window are none of them."""
