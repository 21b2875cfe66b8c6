"""Reads a WordPiece vocabulary and its rules from tokenizer.json.

`gguf_file` writes the vocabulary into the GGUF; `worker.embedding.tokenizer` uses the rules to find the texts for the model's own
tokenizer. llama.cpp follows BERT's rules (clean, lower case, split at spaces and punctuation, longest match first) with fixed
parameters, so a tokenizer.json with other rules is refused.
"""

import json
from dataclasses import dataclass
from typing import Any

from worker.embedding.model.errors import ModelError

CONTINUES = "##"
WORD_START = "\u2581"
"""llama.cpp's mark of a token that begins a word; continuations carry no mark there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPiece:
    """A vocabulary and its rules; `tokens[i]` is the text of id i, `""` for an unused id."""

    tokens: tuple[str, ...]
    special_ids: frozenset[int]
    """Ids of the added tokens, of those that frame a text, and of the unknown token."""
    unk: int
    cls: int
    sep: int
    pad: int | None
    mask: int | None
    lowercase: bool
    strip_accents: bool
    longest_word_characters: int
    """A longer word becomes one unknown token; llama.cpp has no such limit."""
    special_in_any_case: bool
    """Whether some special tokens are searched for in the normalised text."""

    @property
    def special(self) -> tuple[str, ...]:
        """Texts of the special tokens; only the model's own tokenizer encodes a text that holds one of them."""
        return tuple(self.tokens[token_id] for token_id in sorted(self.special_ids))


def read_wordpiece(tokenizer_json: str, source: str) -> WordPiece:
    """Read the text of a tokenizer.json; `source` names it in errors. Raises ModelError."""
    try:
        parsed: dict[str, Any] = json.loads(tokenizer_json)
        return _read(parsed, source)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{source} is not a WordPiece tokenizer: {error!r}") from error


def _read(parsed: dict[str, Any], source: str) -> WordPiece:
    model, normalizer = parsed["model"], parsed["normalizer"]
    for found, wanted in (
        (model.get("type", "WordPiece"), "WordPiece"),
        (model["continuing_subword_prefix"], CONTINUES),
        (normalizer["type"], "BertNormalizer"),
        (normalizer["clean_text"], True),
        (parsed["pre_tokenizer"]["type"], "BertPreTokenizer"),
    ):
        if found != wanted:
            raise ModelError(f"{source} is not a BERT tokenizer: {found!r} where {wanted!r} was expected")
    ids: dict[str, int] = dict(model["vocab"])
    added = parsed.get("added_tokens") or []
    ids.update({entry["content"]: int(entry["id"]) for entry in added})
    tokens = [""] * (max(ids.values()) + 1)
    for token, token_id in ids.items():
        if token.startswith(CONTINUES + WORD_START):
            raise ModelError(f"{source} holds the token {token!r}, which llama.cpp cannot tell from a word's start")
        tokens[token_id] = token
    cls, sep = _frame(parsed["post_processor"], source)
    unk = ids[model["unk_token"]]
    strip_accents = normalizer.get("strip_accents")
    return WordPiece(
        tokens=tuple(tokens),
        special_ids=frozenset((cls, sep, unk, *(int(entry["id"]) for entry in added))),
        unk=unk,
        cls=cls,
        sep=sep,
        pad=ids.get("[PAD]"),
        mask=ids.get("[MASK]"),
        lowercase=bool(normalizer["lowercase"]),
        strip_accents=bool(normalizer["lowercase"] if strip_accents is None else strip_accents),
        longest_word_characters=int(model["max_input_chars_per_word"]),
        special_in_any_case=any(entry["normalized"] for entry in added),
    )


def _frame(post: dict[str, Any], source: str) -> tuple[int, int]:
    """Return the ids that go before and after every text."""
    if post["type"] == "BertProcessing":
        return int(post["cls"][1]), int(post["sep"][1])
    if post["type"] == "TemplateProcessing":
        template = post["single"]
        middle = template[1:-1]
        if len(template) == 3 and middle[0]["Sequence"]["id"] == "A":  # noqa: PLR2004 - [CLS] A [SEP]
            first, last = (post["special_tokens"][template[end]["SpecialToken"]["id"]]["ids"] for end in (0, -1))
            if len(first) == len(last) == 1:
                return int(first[0]), int(last[0])
    raise ModelError(f"{source} does not frame a text as [CLS] text [SEP]")
