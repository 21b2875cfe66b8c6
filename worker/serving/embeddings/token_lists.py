"""Whose token ids a client sent: this model's, OpenAI's, or nobody's that is known.

Ids of another tokenizer are valid numbers that give wrong vectors, and a vocabulary does not tell them apart: of 3,004 lines that
OpenAI's cl100k tokenised, 400 have only ids that MiniLM has too. The special tokens around a text do: no tokenizer but the model's own
writes them. So a list without them is never embedded as it is, and never decoded with this model's tokenizer.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from worker.embedding.model.reference_tokenizer import ReferenceTokenizer
from worker.embedding.model.vectors import TokenIds
from worker.serving.embeddings.embedding_bodies import Truncate
from worker.serving.embeddings.embedding_errors import text_too_long, token_ids_of_another_tokenizer, too_many_tokens
from worker.serving.embeddings.embedding_request import MOST_TOKENS, TokenLists
from worker.serving.embeddings.openai_tokens import OpenAITokens

_LETTER: Final = "a"


class FittedTexts(NamedTuple):
    """Token ids that the model takes."""

    ids: list[TokenIds]
    """int32[n] each, n <= the model's most."""
    truncated: tuple[int, ...]
    """Places of those that were cut, ascending."""
    tokens: int
    """Of all texts together, special ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTokenIds:
    """How the model's own tokenizer writes a text: `before`, the text's ids, `after`; no special id is among the text's."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    special: frozenset[int]
    """All special ids but that of the unknown token, which stands for words in any text."""
    vocabulary_size: int
    max_tokens: int
    """Of a text, special tokens included."""

    def first_foreign(self, lists: Sequence[TokenIds]) -> int | None:
        """Return the place of the first list that another tokenizer wrote; None if there is none."""
        allowed = np.ones(self.vocabulary_size + 1, dtype=np.bool_)
        allowed[[*self.special, -1]] = False
        before, after = np.array(self.before, dtype=np.int32), np.array(self.after, dtype=np.int32)
        framed = len(before) + len(after)
        for place, ids in enumerate(lists):
            text = ids[len(before) : len(ids) - len(after)]
            is_framed = 0 < framed <= len(ids) and (ids[: len(before)] == before).all() and (ids[len(ids) - len(after) :] == after).all()
            if not (is_framed and allowed.take(text, mode="clip").all()):
                return place
        return None

    def fitted(self, texts: Sequence[TokenIds], *, truncate: Truncate, param: str, first: int = 0) -> FittedTexts:
        """Return the ids of texts, of whoever tokenised them with `before` and `after`, cut to what the model takes if they may be.

        A text that was cut ends with `after`. Raises EmbeddingRefused for one that is too long, or for too many tokens in all.
        """
        too_long = tuple(place for place, ids in enumerate(texts) if len(ids) > self.max_tokens)
        if too_long and truncate == "no":
            place = too_long[0]
            raise text_too_long(param=f"{param}[{first + place}]", tokens=len(texts[place]), max_tokens=self.max_tokens)
        fitted = list(texts)
        for place in too_long:
            kept = texts[place][: self.max_tokens - len(self.after)]
            fitted[place] = np.concatenate([kept, np.array(self.after, dtype=np.int32)])
        if (tokens := sum(map(len, fitted))) > MOST_TOKENS:
            raise too_many_tokens(param=param, tokens=tokens, most_tokens=MOST_TOKENS)
        return FittedTexts(fitted, tuple(first + place for place in too_long), tokens)


def resolved(
    lists: TokenLists, *, own: OwnTokenIds, openai_tokens: OpenAITokens | None, param: str
) -> tuple[str, ...] | TokenLists:  # fmt: skip
    """Return the lists if all are the model's own, else the texts that they are to OpenAI's tokenizer. Raises EmbeddingRefused."""
    foreign = own.first_foreign(lists.lists)
    if foreign is None:
        return lists
    if openai_tokens is None:
        raise token_ids_of_another_tokenizer(f"{param}[{foreign}]")
    return tuple(openai_tokens.decode(ids, param=f"{param}[{place}]") for place, ids in enumerate(lists.lists))


def own_token_ids(tokenizer_json: str, *, vocabulary_size: int, max_tokens: int) -> OwnTokenIds:
    """Return how the tokenizer of a tokenizer.json's text frames texts; loads it for a tenth of a second. Raises ModelError."""
    tokenizer = ReferenceTokenizer(tokenizer_json)
    frame, letter = (ids.tolist() for ids in tokenizer.encode(["", _LETTER]))
    before = max(at for at in range(len(frame) + 1) if letter[:at] == frame[:at] and letter[len(letter) - len(frame) + at :] == frame[at:])
    parsed = json.loads(tokenizer_json)
    added = {int(one["id"]) for one in parsed.get("added_tokens") or [] if one.get("special")}
    unknown = parsed["model"].get("unk_token")
    unknown_id = parsed["model"].get("unk_id") if unknown is None else tokenizer.ids().get(unknown)
    return OwnTokenIds(
        before=tuple(frame[:before]),
        after=tuple(frame[before:]),
        special=frozenset({*added, *frame} - {unknown_id}),
        vocabulary_size=vocabulary_size,
        max_tokens=max_tokens,
    )
