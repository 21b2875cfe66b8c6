"""The model's own tokenizer loads from the folder, whatever its family, or is refused with the file's name."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.worker.embedding.model.tiny import Tiny, make_folder
from tests.worker.embedding.model.tiny_tokenizers import VOCABULARY, tokenizer_json, unigram_json
from worker.embedding.model.errors import ModelError
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer, read_tokenizer_json


def without(parsed: dict[str, Any], token: str) -> str:
    del parsed["model"]["vocab"][token]
    parsed["added_tokens"] = [entry for entry in parsed["added_tokens"] if entry["content"] != token]
    return json.dumps(parsed)


def test_padding_and_truncation_are_off() -> None:
    own = ReferenceTokenizer(json.dumps(tokenizer_json()))
    long, short = own.encode(["error " * 20, "error"])
    assert (len(long), len(short)) == (22, 3)


def test_a_unigram_is_loaded_with_its_own_frame() -> None:
    own = ReferenceTokenizer(json.dumps(unigram_json()))
    (ids,) = own.encode(["disk error Ω"])
    assert (ids[0], ids[-1], 3 in ids) == (0, 2, True)


def test_the_largest_id_may_be_one_that_only_frames_a_text() -> None:
    assert ReferenceTokenizer(json.dumps(tokenizer_json())).largest_id() == len(VOCABULARY) - 1
    framed = tokenizer_json()
    framed["post_processor"]["special_tokens"]["[SEP]"]["ids"] = [500]
    assert ReferenceTokenizer(json.dumps(framed)).largest_id() == 500


def test_a_tokenizer_that_fails_on_an_unknown_character_is_refused_at_once() -> None:
    with pytest.raises(ModelError, match=r"here is not a tokenizer: .*Missing \[UNK\]"):
        ReferenceTokenizer(without(tokenizer_json(), "[UNK]"), "here")
    unigram = unigram_json()
    unigram["model"]["unk_id"] = None
    with pytest.raises(ModelError, match=r"here is not a tokenizer: .*unk_id"):
        ReferenceTokenizer(json.dumps(unigram), "here")


def test_a_vocabulary_without_its_special_tokens_is_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny", Tiny(vocab_txt_only=True))
    (folder / "vocab.txt").write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(ModelError, match=r"vocab\.txt is not a vocabulary: \w+ not found"):
        read_tokenizer_json(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.txt"])
def test_a_file_that_is_no_text_is_named(tmp_path: Path, name: str) -> None:
    folder = make_folder(tmp_path / "tiny", Tiny(vocab_txt_only=name == "vocab.txt"))
    (folder / name).write_bytes(b"\xff\xfe\xfd")
    with pytest.raises(ModelError, match=name):
        read_tokenizer_json(folder)
