"""All forms of question, and how a request is read as one of them."""

from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ValidationError

from worker.asking.filters import FILTERS, Filters
from worker.asking.operators import is_pasted, with_operators
from worker.asking.question import ONE, SEVERAL, Around, Query, Window
from worker.asking.refusals import BadQuery
from worker.querying.around import AROUND
from worker.querying.compare import COMPARE
from worker.querying.counts import COUNTS
from worker.querying.export import EXPORT
from worker.querying.form import Form, refuse_set
from worker.querying.line_search import LINES
from worker.querying.query_words import words_of
from worker.querying.tail import TAIL
from worker.querying.template_listing import TEMPLATES
from worker.settings.unknown_names import probably_meant

MOST_MUSTS: Final = 2
"""Identifiers of a question that must match; a text with more is a line that was pasted."""
FORMS: Final = {form.name: form for form in (LINES, TEMPLATES, COUNTS, AROUND, COMPARE, EXPORT, TAIL)}
_OF_RANKING: Final = ("text", "mode", "rank")
_SHOWN_CHARACTERS = 100
_EXTRA: Final = "extra_forbidden"
_PARTS: Final[Mapping[str, type[BaseModel]]] = {"filters": Filters, "around": Around, "compare": Window}


def form_of(query: Query) -> Form:
    """Return the form of a valid query."""
    return AROUND if query.around is not None else FORMS[query.form]


def parse_query(value: bytes | None, form: str | None = None) -> Query:
    """Parse a request's value; `form` is what `as` is then, whether it is given or not. Raises BadQuery."""
    try:
        query = Query.model_validate_json(value or b"")
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        first = next((one for one in found if one["type"] == _EXTRA), found[0])
        field = ".".join(str(part) for part in first["loc"] if part not in (ONE, SEVERAL))[:_SHOWN_CHARACTERS]
        reason = _unknown(first["loc"]) if first["type"] == _EXTRA else first["msg"].removeprefix("Value error, ")
        raise BadQuery(field or "query", reason) from None
    if form is not None:
        if "form" in query.model_fields_set and query.form != form:
            raise BadQuery("as", f"is {form} here")
        query = query.model_copy(update={"form": form})
    is_filter = query.text is not None and query.rank is False and query.around is None
    if query.text is not None and query.operators is not False and not is_pasted(query.text):
        query = _with_identifiers(with_operators(query))
    if is_filter:
        query = query.model_copy(update=dict.fromkeys(_OF_RANKING))
        query.model_fields_set.difference_update(_OF_RANKING)
    _check(query)
    return query


def _unknown(loc: tuple[int | str, ...]) -> str:
    """Return why a name is refused that no part of a query has, and which one was probably meant."""
    model = _PARTS.get(str(loc[0]), Query) if len(loc) > 1 else Query
    names = [field.alias or name for name, field in model.model_fields.items()]
    return f"there is no such part of a query{probably_meant(str(loc[-1])[:_SHOWN_CHARACTERS], names)}"


def _with_identifiers(query: Query) -> Query:
    """Return a question that only lines with its identifiers answer; of many in one text nobody asks for lines that have all."""
    if query.text is None or query.mode in ("dense", "words"):
        return query
    words = words_of(query.text)
    if words.is_exact or len(words.identifiers) > MOST_MUSTS:
        return query
    said = query.filters.phrases
    new = [[one.text] for one in words.identifiers if not any(one.is_in(phrase) for phrases in said for phrase in phrases)]
    if not new:
        return query
    return query.model_copy(update={"filters": query.filters.model_copy(update={"phrases": [*said, *new]})})


def _check(query: Query) -> None:
    """Refuse parts that contradict each other. Raises BadQuery."""
    names = [name for name, form in FORMS.items() if form is not AROUND]
    if query.form not in names:
        raise BadQuery("as", f"give one of {', '.join(names)}")
    form = form_of(query)
    if form is AROUND:
        form.check(query)  # which refuses all others
        return
    for part in dict.fromkeys(part for one in FORMS.values() for part in one.takes):
        if part not in form.takes:
            takers = " and ".join(one.name for one in FORMS.values() if part in one.takes)
            refuse_set(f"is for {takers} only", **{part: getattr(query, part)})
    form.check(query)
    for name, of in FILTERS.items():
        if of.field and of.field in query.filters.fields and getattr(query.filters, name) is not None:
            raise BadQuery(f"filters.{name}", "is among fields as well: give one of both")
    if query.text is None:
        refuse_set("needs a text", mode=query.mode, rank=query.rank)
