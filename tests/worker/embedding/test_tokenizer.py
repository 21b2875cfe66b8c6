"""Ids equal those of the model's own tokenizer on every input, whichever tokenizer a text goes to."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer
from worker.embedding.parity_sample import SAMPLE
from worker.embedding.tokenizer import Encoded, Tokenizer


def ids_of(encoded: Encoded) -> list[list[int]]:
    return [encoded.text(index).tolist() for index in range(len(encoded.offsets) - 1)]


def right_ids(own: ReferenceTokenizer, texts: list[str]) -> list[list[int]]:
    return [ids.tolist() for ids in own.encode(texts)]


def test_ids_equal_the_models_own_on_every_word_of_the_vocabulary(
    tokenizer: Tokenizer, own: ReferenceTokenizer, prepared_model: PreparedModel
) -> None:
    vocabulary = list(json.loads(prepared_model.tokenizer_json.read_text(encoding="utf-8"))["model"]["vocab"])
    assert len(vocabulary) == 30_522
    assert ids_of(tokenizer.encode(vocabulary)) == right_ids(own, vocabulary)


@pytest.mark.parametrize(
    "text",
    ["a [SEP] b", "a [sep] b", "[CLS][MASK][PAD][UNK]", "x" * 101, "naïve", "中", "\U0001f4a5", "nul\x00nul", "\x0b", "\x7f", "end\u2028"],
)
def test_a_fallback_text_goes_to_the_models_own_tokenizer(tokenizer: Tokenizer, text: str) -> None:
    before = tokenizer.fallback_texts
    tokenizer.encode(["plain", text, "plain"])
    assert tokenizer.fallback_texts == before + 1


@pytest.mark.parametrize("text", ["", "plain", "x" * 100, "=" * 255, "\t\r\n", "[SE P] SEP] [SEP", "~`^|{}", "a" * 100 + "-" + "b" * 100])
def test_an_ordinary_text_goes_to_llama(tokenizer: Tokenizer, text: str) -> None:
    before = tokenizer.fallback_texts
    tokenizer.encode(["é", text, "é"])
    assert tokenizer.fallback_texts == before + 2


def test_no_texts_give_no_ids(tokenizer: Tokenizer) -> None:
    encoded = tokenizer.encode([])
    assert (len(encoded.ids), encoded.offsets.tolist(), encoded.counts().tolist()) == (0, [0], [])


def test_counts_are_the_lengths_of_the_ids(tokenizer: Tokenizer) -> None:
    texts = ["", "one two three", "é", "=" * 255]
    encoded = tokenizer.encode(texts)
    assert encoded.counts().tolist() == tokenizer.count(texts).tolist() == [2, 5, 3, 257]
    assert (str(encoded.ids.dtype), str(encoded.offsets.dtype)) == ("int32", "int64")


def test_earlier_ids_are_not_overwritten_by_the_next_list(tokenizer: Tokenizer) -> None:
    encoded = tokenizer.encode(["the first list"])
    kept = encoded.ids.copy()
    tokenizer.encode(["something else altogether"])
    assert np.array_equal(encoded.ids, kept)


@pytest.mark.parametrize("text", ["a" * 60_000, "a " * 500_000, "é" * 60_000, "\x00" * 60_000])
def test_a_huge_text_is_encoded_like_any_other(tokenizer: Tokenizer, own: ReferenceTokenizer, text: str) -> None:
    assert ids_of(tokenizer.encode([text])) == right_ids(own, [text])


def test_the_start_check_passes_on_its_own_sample(tokenizer: Tokenizer) -> None:
    tokenizer.check_parity()
    tokenizer.check_parity([*SAMPLE, "a user's own line"])


def test_the_start_check_names_the_first_text_that_differs(prepared_model: PreparedModel, tmp_path: Path) -> None:
    changed = json.loads(prepared_model.tokenizer_json.read_text(encoding="utf-8"))
    vocabulary = changed["model"]["vocab"]
    vocabulary["password"], vocabulary["port"] = vocabulary["port"], vocabulary["password"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(changed), encoding="utf-8")
    tokenizer = Tokenizer(replace(prepared_model, tokenizer_json=tmp_path / "tokenizer.json"))
    with pytest.raises(ModelError, match=r"disagree on 'Failed password for invalid user"):
        tokenizer.check_parity()
    tokenizer.close()


def test_for_a_model_of_split_words_ids_and_counts_are_those_of_the_split_text(
    prepared_model: PreparedModel, own: ReferenceTokenizer
) -> None:  # fmt: skip
    texts = ["BlockManagerMaster stopped", "max_open_files é", "disk full"]
    tokenizer = Tokenizer(prepared_model)
    encoded = tokenizer.encode(texts)
    assert ids_of(encoded) == right_ids(own, ["Block Manager Master stopped", "max open files é", "disk full"])
    assert tokenizer.count(texts).tolist() == encoded.counts().tolist()
    assert tokenizer.first_difference(texts) is None
    tokenizer.close()


def test_a_closed_tokenizer_may_be_closed_again_and_encodes_no_more(prepared_model: PreparedModel) -> None:
    tokenizer = Tokenizer(prepared_model)
    tokenizer.close()
    tokenizer.close()
    with pytest.raises(RuntimeError, match="closed"):
        tokenizer.encode(["text"])


def test_a_missing_tokenizer_json_is_named(prepared_model: PreparedModel, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent\.json cannot be read"):
        Tokenizer(replace(prepared_model, tokenizer_json=tmp_path / "absent.json"))
