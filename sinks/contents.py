"""What a block says of its lines beside them: its head, its words, and names that are valid text.

Called by `sinks.build`; columns in, columns out.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import JoinedTexts, as_optional_texts, distinct_texts, has_values, valid_text
from sinks.block import CodedColumn, Head, Lines
from sinks.field_pairs import find_pairs, parsed_pairs
from sinks.lines import coded, take_lines
from sinks.row import TemplateKey, TemplateText, template_id, template_key
from sinks.words import block_words, field_words, pair_words, sorted_words

_CACHED_CHARACTERS = 1_000
_Text = TypeVar("_Text", bound=str)
_EARLIEST, _LATEST = np.int64(-(1 << 63)), np.int64((1 << 63) - 1)


def head_of(lines: Lines, written_ms: int) -> Head:
    """Return what is in n ≥ 1 lines; hollow ones are none."""
    if (lines.chunks == 0).any():
        lines = take_lines(lines, np.flatnonzero(lines.chunks))
    keys = np.array(list(map(_key_of, lines.template.values)), np.int64)
    order = np.argsort(keys)
    keys = keys[order]
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = keys[1:] != keys[:-1]
    place = np.empty(len(keys), np.int64)
    place[order] = np.cumsum(is_first) - 1
    keys = keys[is_first]
    row = place[lines.template.codes]
    first, last = np.full(len(keys), _LATEST), np.full(len(keys), _EARLIEST)
    np.minimum.at(first, row, lines.time)
    np.maximum.at(last, row, lines.time)
    pieces = np.bincount(row, minlength=len(keys))
    services, levels = tuple(sorted(lines.service.values)), tuple(sorted(lines.level.values))
    return Head(keys, pieces, first, last, services, levels, written_ms)


def words_of(lines: Lines, texts: JoinedTexts) -> NDArray[np.int32]:
    """Return the distinct words of the lines' texts, which come joined, and of their fields, ascending."""
    words = block_words(texts, lines.template)
    if not has_values(lines.fields):
        return words
    fields = distinct_texts(lines.fields)  # many lines have the metadata of one pod, and nothing else
    pairs = find_pairs(fields)
    if pairs is None:
        named = [pair for text in as_optional_texts(fields) for pair in parsed_pairs(text)]
        return sorted_words(np.concatenate([words, field_words(list(dict.fromkeys(named)))]))
    found = [words, pair_words(pairs)]
    if pairs.is_odd.any():
        odd = filter(None, map(pairs.decoded, pairs.is_odd.nonzero()[0].tolist()))
        found.append(field_words(list(dict.fromkeys(odd))))
    return sorted_words(np.concatenate(found))


def with_valid_names(lines: Lines) -> Lines:
    """Return lines whose services, levels and templates are valid text: `?` for lone surrogates, as in columns of texts."""
    service, level = _valid_coded(lines.service, str), _valid_coded(lines.level, str)
    return lines._replace(service=service, level=level, template=_valid_coded(lines.template, TemplateText))


def _key_of(text: TemplateText) -> TemplateKey:
    return _short_key(text) if len(text) <= _CACHED_CHARACTERS else template_key(template_id(text))


@lru_cache(maxsize=1 << 14)
def _short_key(text: TemplateText) -> TemplateKey:
    return template_key(template_id(text))


def _valid_coded(column: CodedColumn[_Text], kind: Callable[[str], _Text]) -> CodedColumn[_Text]:
    try:
        "".join(column.values).encode()
    except UnicodeEncodeError:
        valid = coded([kind(valid_text(value)) for value in column.values])
        return CodedColumn(valid.codes[column.codes], valid.values)
    return column
