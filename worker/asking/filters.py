"""Which lines a question is about: the filters, declared here and nowhere else.

Options of the command line, arguments of MCP tools, `/openapi.json` and what the index is asked for are made of `Filters`. Filters are
untrusted input: each is typed and bounded, and a value, never an expression.
"""

from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sinks.reading.group_names import FIELD
from worker.asking.moments import MOST_MS

LABEL_CHARACTERS = 256
EXCLUDES: Final = "not_"
"""What the name of a filter that excludes begins with."""

Label = Annotated[str, Field(max_length=LABEL_CHARACTERS)]
TemplateId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
FamilyId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Phrase = Annotated[str, Field(max_length=LABEL_CHARACTERS, pattern=r"\w")]
MOST_PHRASES = 16
TimeMs = Annotated[int, Field(ge=-MOST_MS, le=MOST_MS)]
"""Milliseconds since 1970, far inside 64 bits."""


class Of(NamedTuple):
    """What a filter looks at: the column of blocks, and in words "Only lines of this …", "Only lines of these …"."""

    column: Literal["services", "levels", "topics", "templates", "families", "fields"]
    one: str
    many: str
    value: str = "NAME"
    """What one value of it is."""
    example: str = ""
    """Said where the filter is wanted, and not again where it excludes."""
    digits: int = 0
    """Hexadecimal digits of an id."""
    field: str = ""
    """The kept field of which it gives one value; such a filter has one value, and is not among `fields` then."""
    is_of_search: bool = False
    """Whether only a search needs it: other tools of MCP do without."""

    @property
    def kind(self) -> Literal["list", "pairs", "text"]:
        """What it is set to: a list of texts, lists of texts by name, or one text."""
        return "text" if self.field else "pairs" if self.column == "fields" else "list"

    @property
    def names_templates(self) -> bool:
        """Whether its values stand for templates."""
        return self.column in ("templates", "families")

    def values(self, given: object) -> tuple[object, ...]:
        """Return the values of a filter of this kind: texts, or pairs of name and value for kept fields."""
        if self.field:
            return () if given is None else ((self.field, given),)
        if isinstance(given, dict):
            return tuple((name, value) for name, values in given.items() for value in values)
        return tuple(given) if isinstance(given, list) else ()


def _as_texts(value: object) -> object:
    """Return the values of a filter as a list of texts: a single one, a number and a boolean may be given as they are."""
    from sinks.field_pairs import field_text  # noqa: PLC0415 - the command line reads this file for its options

    values = value if isinstance(value, list) else [value]
    return [str(one) if type(one) is int else field_text(one) if isinstance(one, float | bool) else one for one in values]


FieldTexts = Annotated[list[Label], BeforeValidator(_as_texts), Field(min_length=1, max_length=100)]
"""Values of a field; a number or a boolean is the text that JSON writes for it."""
_Services = Annotated[list[Label], Field(max_length=100), Of("services", "service", "services")]
_Levels = Annotated[list[Label], Field(max_length=100), Of("levels", "level", "levels", example="TRACE, DEBUG, INFO, WARN, ERROR, FATAL")]
_Topics = Annotated[list[Label], Field(max_length=100), Of("topics", "topic", "topics")]
_Templates = Annotated[
    list[TemplateId],
    Field(max_length=1000),
    Of("templates", "template, named by its id", "templates, named by their ids", "ID", digits=32, is_of_search=True),
]
_Families = Annotated[
    list[FamilyId],
    Field(max_length=100),
    Of("families", "family of templates, named by its id", "families, named by their ids", "ID", digits=16),
]
_Fields = Annotated[
    dict[Label, FieldTexts],
    Field(max_length=16),
    Of("fields", "value of a kept field", "values of kept fields", "NAME=VALUE", 'a text or a list: {"k8s.pod.name": "web-1"}'),
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
    trace_id: Annotated[Label | None, Of("fields", "trace", "traces", "ID", field="trace_id", is_of_search=True)] = None
    """The value of the field of that name, which is not among `fields` then."""
    not_service: _Services = []
    not_level: _Levels = []
    not_topic: _Topics = []
    not_template: _Templates = []
    not_family: _Families = []
    not_fields: _Fields = {}
    phrases: list[Annotated[list[Phrase], Field(min_length=1, max_length=MOST_PHRASES)]] = Field(default=[], max_length=MOST_PHRASES)
    """Of each of these lists the text of a line must hold one phrase, whole and in capital letters or small."""
    not_phrases: list[Phrase] = Field(default=[], max_length=MOST_PHRASES)
    """The text of a line must hold none of these."""

    def without(self, grouping: str) -> "Filters":
        """Return all filters but those on one label, or on one `field:NAME`."""
        if not grouping.startswith(FIELD):
            return self.model_copy(update={grouping: [], f"{EXCLUDES}{grouping}": []})
        without = grouping.removeprefix(FIELD)
        update: dict[str, object] = {name: None for name, of in FILTERS.items() if of.field == without}
        for name in ("fields", f"{EXCLUDES}fields"):
            update[name] = {field: values for field, values in getattr(self, name).items() if field != without}
        return self.model_copy(update=update)

    @property
    def names_templates(self) -> bool:
        """Whether templates or families are wanted, or excluded."""
        return any(getattr(self, name) for name, of in FILTERS.items() if of.names_templates)

    def by_column(self) -> dict[str, tuple[Any, ...]]:
        """Return the values of each column that are wanted, and those that are not under `not_` and the column's name."""
        columns: dict[str, tuple[Any, ...]] = {}
        for name, of in FILTERS.items():
            column = f"{EXCLUDES if name.startswith(EXCLUDES) else ''}{of.column}"
            columns[column] = (*columns.get(column, ()), *of.values(getattr(self, name)))
        return columns | {"phrases": tuple(map(tuple, self.phrases)), f"{EXCLUDES}phrases": tuple(self.not_phrases)}


def filters_of(model: type[BaseModel]) -> dict[str, Of]:
    """Return what each filter of a model looks at, by its name; the ends of the window are none of them."""
    return {name: of for name, field in model.model_fields.items() for of in field.metadata if isinstance(of, Of)}


FILTERS: Final = filters_of(Filters)


def option_of(name: str) -> str:
    """Return the option of the command line for a filter, or for an end of the window."""
    return f"--{name.removesuffix('_ms').replace('fields', 'field').replace('_', '-')}"
