"""The one grammar of a question's text, wherever it is asked: what must be in a line, what must not, and filters.

    "out of memory"       the line's text has these words, as they stand
    -canary, -"dry run"   it does not have them
    refused OR reset      it has one of them
    level:ERROR           a filter, by the name of its option; -level:DEBUG excludes; level:WARN OR level:ERROR
    field:NAME=VALUE      a kept field

Everything else is text. A line that somebody pastes is text as well, whatever stands in it: only names of filters make a filter, only a
letter or a quote behind `-` makes an exclusion, and a text with marks that logs have and questions have not is no expression at all.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from pydantic import ValidationError

from worker.asking.filters import EXCLUDES, FILTERS, Filters, Of, option_of
from worker.asking.question import Query
from worker.asking.refusals import BadQuery

_TERM = re.compile(r'(?P<minus>-)?(?:(?P<name>[a-z]+(?:[-_][a-z]+)*):(?P<field>[^\s"=]+=)?)?"(?P<phrase>[^"]*)"(?!\S)|(?P<bare>\S+)')
_BARE = re.compile(r"(?P<minus>-)?(?:(?P<name>[a-z]+(?:[-_][a-z]+)*):)?(?P<rest>.*)", re.DOTALL)
_BREAK = re.compile(r"[\x00-\x1f]")
_OF_LOGS = re.compile(r'[{}\[\]<>|=;`\\"]|(?<![\w.-])(?:\d\d?:\d\d:\d\d|\d{4}[-./]\d\d[-./]\d\d)|\b[A-Z]{3,}:(?:\s|$)')
"""What questions do not have beside operators: brackets, `=`, quotes inside, a time, a date, `ERROR:`; nor have they line breaks."""
_SPAN = re.compile(r"(since|until):\S+")
_MARKS = ".,;:!?"
_OR: Final = "OR"


class _Term(NamedTuple):
    """A word, a phrase, or the value of a filter."""

    text: str
    """As it stands; of a phrase without its quotes."""
    of: str = ""
    """The filter of a value."""
    is_phrase: bool = False
    is_excluded: bool = False

    @property
    def is_or(self) -> bool:
        """Whether it joins its neighbours."""
        return self == _Term(_OR)


def is_pasted(text: str) -> bool:
    """Whether a text has marks of a log beside its operators: then it is a sample of what is sought, and all of it is text."""
    others = " ".join(term.text for term in _terms(text) if not term.is_phrase and not term.of)
    return _BREAK.search(text.strip()) is not None or _OF_LOGS.search(others) is not None


def with_operators(query: Query) -> Query:
    """Return a question with the operators of its text as filters, and the words that are left as its text. Raises BadQuery."""
    if query.text is None or is_pasted(query.text):
        return query
    said = _Said(query.filters)
    for terms in _joined(list(_terms(query.text))):
        said.add(terms)
    if not said.has_operators:
        return query
    asked = query.model_copy(update={"text": " ".join(said.words) or None, "filters": said.filters()})
    if not said.words:
        asked.model_fields_set.discard("text")
    return asked


def words_sought(text: str) -> str:
    """Return the text of a question without its operators. Raises BadQuery."""
    return (with_operators(Query(text=text)).text or "") if text else ""


def _terms(text: str) -> Iterator[_Term]:
    for match in _TERM.finditer(text):
        bare, phrase = match["bare"], " ".join((match["phrase"] or "").split())
        is_excluded = match["minus"] is not None
        if bare is not None:
            yield _bare_term(bare)
        elif match["name"] is not None:
            of = _filter_named(match["name"])
            yield _Term((match["field"] or "") + phrase, of, is_excluded=is_excluded) if of else _Term(match[0])
        elif any(character.isalnum() for character in phrase):
            yield _Term(phrase, is_phrase=True, is_excluded=is_excluded)
        else:
            yield _Term(match[0])


def _bare_term(bare: str) -> _Term:
    match = _BARE.fullmatch(bare)
    assert match is not None  # noqa: S101 - every part of it may be missing
    is_excluded = match["minus"] is not None
    if match["rest"] and match["name"] is not None and (of := _filter_named(match["name"])):
        return _Term(match["rest"], of, is_excluded=is_excluded)
    word = bare[1:].rstrip(_MARKS)
    if is_excluded and len(word) > 1 and word[0].isalpha():
        return _Term(word, is_excluded=True)
    return _Term(bare)


def _filter_named(name: str) -> str:
    """Return the filter whose option has a name; empty if there is none."""
    wanted = f"--{name.replace('_', '-')}"
    return next((one for one in FILTERS if not one.startswith(EXCLUDES) and option_of(one) == wanted), "")


def _joined(terms: Sequence[_Term]) -> list[list[_Term]]:
    """Return terms in groups of those that OR joins. Raises BadQuery."""
    groups: list[list[_Term]] = []
    for before, term, after in zip([None, *terms], terms, [*terms[1:], None], strict=False):
        if not term.is_or:
            if before is not None and before.is_or:
                groups[-1].append(term)
            else:
                groups.append([term])
        elif before is None or after is None or before.is_or or after.is_or:
            raise BadQuery("text", 'OR needs a word, a phrase or a value on both sides; "OR" looks for the word')
    return groups


class _Said:
    """What the terms so far say, beside the filters of the query.

    Thread: one.
    """

    def __init__(self, filters: Filters) -> None:
        self.words: list[str] = []
        self._filters = filters
        self._phrases = list(filters.phrases)
        self._not_phrases = list(filters.not_phrases)
        self._values: dict[str, list[str]] = {}
        """Of each filter that is said."""
        self.has_operators = False

    def add(self, terms: Sequence[_Term]) -> None:
        """Take up terms of which a line has one. Raises BadQuery."""
        first = terms[0]
        if (span := _SPAN.fullmatch(first.text)) is not None and not first.of and not first.is_phrase:
            raise BadQuery("text", f"{span[1]} is no operator: give the span beside the text")
        if len(terms) > 1 and any(term.is_excluded for term in terms):
            raise BadQuery("text", "OR joins what a line may have: exclude each by itself, without OR")
        if len({term.of for term in terms}) > 1:
            raise BadQuery("text", "OR joins words, or values of one filter, not both")
        self.has_operators |= len(terms) > 1 or first.of != "" or first.is_phrase or first.is_excluded
        if first.of:
            self._add_values(f"{EXCLUDES if first.is_excluded else ''}{first.of}", [term.text for term in terms])
        elif first.is_excluded:
            self._not_phrases.append(first.text)
        else:
            self.words += [_plain(term.text) if term.is_phrase else term.text for term in terms]
            if first.is_phrase or len(terms) > 1:
                self._phrases.append([term.text if term.is_phrase else term.text.strip(_MARKS) or term.text for term in terms])

    def _add_values(self, name: str, values: list[str]) -> None:
        plain = name.removeprefix(EXCLUDES)
        option = option_of(plain).removeprefix("--")
        if name not in FILTERS:
            raise BadQuery("text", f"{option} cannot be excluded")
        if FILTERS[name].kind == "pairs" and not all(value.partition("=")[1] for value in values):
            raise BadQuery("text", f"give {option}:{FILTERS[name].value}")
        if FILTERS[name].kind == "text" and len(values) > 1:
            raise BadQuery("text", f"{option} takes one value")
        said = self._values.setdefault(name, [])
        if name == plain and (_named(FILTERS[name], said or getattr(self._filters, name)) & _named(FILTERS[name], values)):
            raise BadQuery("text", f"{option} is given twice: join its values with OR")
        said += values

    def filters(self) -> Filters:
        """Return all filters. Raises BadQuery for a value that a filter does not take."""
        given: dict[str, object] = self._filters.model_dump(exclude_unset=True)
        for name, values in self._values.items():
            given[name] = _with_values(FILTERS[name], given.get(name), values)
        phrases = {"phrases": self._phrases, f"{EXCLUDES}phrases": self._not_phrases}
        given |= {name: one for name, one in phrases.items() if one}
        try:
            return type(self._filters).model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            raise BadQuery("text", f"{first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}") from None


def _named(of: Of, values: object) -> set[str]:
    """Return what values of a filter are of: the names of kept fields; the filter itself, if there are values."""
    if of.kind == "pairs":
        return {name.partition("=")[0] for name in values} if isinstance(values, list | dict) else set()
    return {""} if values else set()


def _with_values(of: Of, given: object, values: Sequence[str]) -> object:
    if of.kind == "text":
        return values[0]
    if of.kind == "list":
        return [*(given if isinstance(given, list) else []), *values]
    fields = {name: list(one) for name, one in given.items()} if isinstance(given, dict) else {}
    for pair in values:
        name, _, value = pair.partition("=")
        fields.setdefault(name, []).append(value)
    return fields


def _plain(phrase: str) -> str:
    """Return a phrase as words of a text that has no operators, however often it is read."""
    words = [word.lower() if word == _OR else word.lstrip("-") for word in phrase.split()]
    return " ".join(word.replace(":", " ") if _bare_term(word).of else word for word in words if word)
