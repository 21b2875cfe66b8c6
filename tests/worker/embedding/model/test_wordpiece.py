"""A vocabulary is read with its rules, and refused if llama.cpp would follow others."""

import json
from typing import Any

import pytest

from tests.rows import rows
from tests.worker.embedding.model.tiny import SPECIAL, VOCABULARY, tokenizer_json
from worker.embedding.model.errors import ModelError
from worker.embedding.model.wordpiece import WordPiece, read_wordpiece


def read(parsed: object) -> WordPiece:
    return read_wordpiece(json.dumps(parsed), "tokenizer.json")


def changed(path: str, value: object) -> dict[str, Any]:
    """Change one entry of a sound tokenizer.json; a path is written `model.vocab`."""
    parsed = tokenizer_json()
    *parents, last = path.split(".")
    place = parsed
    for parent in parents:
        place = place[parent]
    place[last] = value
    return parsed


def test_tokens_and_rules_are_read() -> None:
    vocabulary = read(tokenizer_json(lowercase=False))
    assert vocabulary.tokens == VOCABULARY
    assert (vocabulary.pad, vocabulary.unk, vocabulary.cls, vocabulary.sep, vocabulary.mask) == (0, 1, 2, 3, 4)
    assert (vocabulary.lowercase, vocabulary.strip_accents, vocabulary.longest_word_characters) == (False, False, 100)
    assert (vocabulary.special_ids, vocabulary.special, vocabulary.special_in_any_case) == (frozenset(range(5)), SPECIAL, False)


def test_what_frames_a_text_is_special_even_where_nobody_added_it() -> None:
    assert read(tokenizer_json() | {"added_tokens": []}).special == ("[UNK]", "[CLS]", "[SEP]")


def test_accents_go_with_the_case_unless_said_otherwise() -> None:
    assert read(tokenizer_json()).strip_accents is True
    assert read(changed("normalizer.strip_accents", value=False)).strip_accents is False


def test_an_unused_id_has_no_text() -> None:
    ids = {token: token_id for token_id, token in enumerate(SPECIAL)}
    assert read(changed("model.vocab", ids | {"word": 7})).tokens[5:] == ("", "", "word")


def test_the_older_frame_is_understood() -> None:
    vocabulary = read(changed("post_processor", {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}))
    assert (vocabulary.cls, vocabulary.sep) == (2, 3)


@pytest.mark.parametrize(("path", "value"), rows("model/refused_rules"))
def test_other_rules_are_refused(path: str, value: object) -> None:
    with pytest.raises(ModelError, match=r"^tokenizer\.json "):
        read(changed(path, value))


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(ModelError, match="not a WordPiece tokenizer"):
        read_wordpiece("{", "tokenizer.json")
