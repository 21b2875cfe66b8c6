"""Other vocabularies: ids equal those of the model's own tokenizer, through llama.cpp if it supports them, else through `tokenizers`."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.worker.embedding.model.tiny import Tiny, make_folder, tokenizer_json, write_json
from tests.worker.odd_lines import odd_lines
from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer
from worker.embedding.tokenizer import Tokenizer

Changed = Callable[[dict[str, Any]], None]
FREE = len(tokenizer_json()["model"]["vocab"])
"""The first of three ids that the tiny models have but their vocabulary does not."""


def assert_equal_ids(model: PreparedModel, texts: Sequence[str], *, uses_llama: bool) -> Tokenizer:
    tokenizer = Tokenizer(model)
    assert tokenizer.uses_llama is uses_llama
    try:
        encoded = tokenizer.encode(texts)
        right = ReferenceTokenizer(model.tokenizer_json.read_text(encoding="utf-8")).encode([clean(text) for text in texts])
        for index, ids in enumerate(right):
            assert encoded.text(index).tolist() == ids.tolist(), texts[index]
        tokenizer.check_parity()
    finally:
        tokenizer.close()
    return tokenizer


def clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def texts_for(parsed: dict[str, Any]) -> list[str]:
    """Lines of this vocabulary's own tokens: in any case, cut, joined, and with other spaces."""
    random = Random(7)
    pieces = [*parsed["model"]["vocab"], *(entry["content"] for entry in parsed["added_tokens"])]
    added = [entry["content"] for entry in parsed["added_tokens"]]
    changed: list[Callable[[str], str]] = [str, str.upper, str.swapcase, lambda piece: piece[1:], lambda piece: piece[:-1]]
    changed += [lambda piece: piece.replace(" ", "\t"), lambda piece: piece.replace(" ", "\n"), lambda piece: piece.removeprefix("##")]
    lines = []
    for _ in range(3000):
        drawn = random.choices([random.choice(pieces), random.choice(added), *random.choices(pieces, k=4)], k=random.randrange(1, 6))
        lines.append(random.choice(["", " "]).join(random.choice(changed)(piece) for piece in drawn))
    return lines + odd_lines(7, 1000, pieces)


def prepared_with(tmp_path: Path, change: Changed, *, lowercase: bool = True) -> tuple[PreparedModel, list[str]]:
    """Prepare a tiny model whose tokenizer.json was changed, and make lines for it."""
    folder = make_folder(tmp_path / "hf", Tiny(lowercase=lowercase))
    parsed = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    change(parsed)
    write_json(folder / "tokenizer.json", parsed)
    return prepare_model(folder, tmp_path / "cache"), texts_for(parsed)


def added(content: str, token_id: int = FREE, **flags: bool) -> Changed:
    """Add a token."""

    def change(parsed: dict[str, Any]) -> None:
        usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        parsed["added_tokens"].append({"id": token_id, "content": content, **usual, **flags})

    return change


def word(token: str, token_id: int = FREE) -> Changed:
    """Put a token into the vocabulary."""

    def change(parsed: dict[str, Any]) -> None:
        parsed["model"]["vocab"][token] = token_id

    return change


def normalizer(**rules: bool | None) -> Changed:
    return lambda parsed: parsed["normalizer"].update(rules)


def longest_word(characters: int) -> Changed:
    return lambda parsed: parsed["model"].update(max_input_chars_per_word=characters)


def other_ids(parsed: dict[str, Any]) -> None:
    """Reverse all ids, so that no special token has its usual one."""
    last = FREE - 1
    vocabulary = parsed["model"]["vocab"]
    vocabulary.update({token: last - token_id for token, token_id in vocabulary.items()})
    for entry in (*parsed["added_tokens"],):
        entry["id"] = last - entry["id"]
    for special in parsed["post_processor"]["special_tokens"].values():
        special["ids"] = [last - special["ids"][0]]
    parsed["added_tokens"].reverse()


def one_frame(parsed: dict[str, Any]) -> None:
    """One token at both ends of a text."""
    parsed["post_processor"]["single"][0]["SpecialToken"]["id"] = "[SEP]"


def unknown_begins(parsed: dict[str, Any]) -> None:
    """One token for the beginning of a text and for unknown words."""
    parsed["model"].update({"unk_token": "[CLS]"})


def lone_mark(parsed: dict[str, Any]) -> None:
    """A token that is the mark that llama.cpp puts before every word, in place of `q`."""
    token_id = parsed["model"]["vocab"].pop("q")
    added("\u2581", token_id)(parsed)


NATIVE: dict[str, Changed] = {
    "other ids": other_ids,
    "short words": longest_word(5),
    "long words": longest_word(250),
    "one letter a word": longest_word(1),
    "accents stripped": normalizer(strip_accents=True),
    "accents kept": normalizer(strip_accents=False),
    "Chinese as letters": normalizer(handle_chinese_chars=False),
    "a token in lower case": added("[unused1]"),
    "a normalised token": added("[unused1]", normalized=True),
    "a normalised token in upper case": added("[UNUSED1]", normalized=True),
    "a token that stands alone": added("[solo]", single_word=True),
    "a token that takes spaces": added("[eats]", lstrip=True, rstrip=True),
    "a normalised token that takes spaces": added("[eats]", lstrip=True, rstrip=True, normalized=True),
    "a token with a space": added("[two words]"),
    "a normalised token with a space": added("[two words]", normalized=True),
    "a normalised token with a tab": added("[two\twords]", normalized=True),
    "a normalised token with an accent": added("[é]", normalized=True),
    "a token with regex letters": added("[a.*+?|b]"),
    "angle brackets": added("<mask>"),
    "a token that is not special": added("[note]", special=False),
    "an empty word": word(""),
    "words of other scripts": word("ñandú"),
    "a whole word with a mark": word("x-y"),
}
FALLBACK: dict[str, Changed] = {
    "a special token that is a continuation, too": added("ing"),
    "a special token of one letter": added("q", special=False),
    "a special token that begins every word": lone_mark,
    "a special token that begins in a frame": added("][CLS]"),
    "a special token that ends in a frame": added("k[SEP]", normalized=True),
    "a special token that is two frames": added("[SEP][CLS]"),
    "a special token named like an unused id": added(f"[PAD{FREE + 1}]"),
    "two tokens with one id": added("[disk]", token_id=tokenizer_json()["model"]["vocab"]["disk"]),
    "one frame token": one_frame,
    "unknown words begin a text": unknown_begins,
    "a continuation that llama.cpp makes special": word("##</s>"),
}


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("name", NATIVE)
def test_a_supported_vocabulary_has_equal_ids(name: str, tmp_path: Path, *, lowercase: bool) -> None:
    model, texts = prepared_with(tmp_path, NATIVE[name], lowercase=lowercase)
    tokenizer = assert_equal_ids(model, texts, uses_llama=True)
    assert 0.1 < tokenizer.fallback_texts / tokenizer.texts < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("name", FALLBACK)
def test_an_unsupported_vocabulary_goes_to_its_own_tokenizer(name: str, tmp_path: Path, *, lowercase: bool) -> None:
    model, texts = prepared_with(tmp_path, FALLBACK[name], lowercase=lowercase)
    tokenizer = assert_equal_ids(model, texts, uses_llama=False)
    assert tokenizer.fallback_texts == tokenizer.texts


def test_a_model_of_another_family_goes_to_its_own_tokenizer(tmp_path: Path) -> None:
    model, texts = prepared_with(tmp_path, lambda _parsed: None)
    tokenizer = assert_equal_ids(replace(model, tokenizer_family="other"), texts, uses_llama=False)
    assert tokenizer.fallback_texts == tokenizer.texts
