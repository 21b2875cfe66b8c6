"""Ids equal those of the model's own tokenizer on every input, whichever tokenizer a text goes to."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.worker.embedding.model.tiny import Tiny, make_folder
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer
from worker.embedding.parity_sample import SAMPLE
from worker.embedding.tokenizer import Encoded, Tokenizer

# Pieces on which tokenizers disagree: frames, word limits, accents, scripts, controls, odd spaces.
SPECIAL = ["[SEP]", "[CLS]", "[MASK]", "[PAD]", "[UNK]", "[sep]", "[", "]", "##ing", "\u2581the", "[unused7]", "SEP]"]
LONG = ["w" * 99, "w" * 100, "w" * 101, "7" * 400, "=" * 255, "ab" * 50 + "c", "blk_-1234567890123456789", "0x7f1ba5f4e68b"]
SCRIPTS = ["é", "Å", "ß", "İ", "ﬁ", "e\u0301", "中", "日志", "エラー", "오류", "σφάλμα", "\U0001f4a5"]
CONTROLS = ["\x00", "\x07", "\x0b", "\x0c", "\x1b[31m", "\x7f", "\x85"]
INVISIBLE = ["\xa0", "\u00ad", "\u2003", "\u200d", "\u2028", "\ufeff", "\ufffd", "\ue000", "\U000e0001"]
PLAIN = ["ERROR", "Failed password for", "10.1.2.3:54106", "/var/log/syslog", " ", "\t", "\r\n", "\n"]
PIECES = st.one_of(
    *map(st.sampled_from, (SPECIAL, LONG, SCRIPTS, CONTROLS, INVISIBLE, PLAIN)),
    st.text(st.characters(max_codepoint=0x7F), max_size=20),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
LINES = st.lists(PIECES, max_size=8).map("".join)


def ids_of(encoded: Encoded) -> list[list[int]]:
    return [encoded.text(index).tolist() for index in range(len(encoded.offsets) - 1)]


def right_ids(own: ReferenceTokenizer, texts: list[str]) -> list[list[int]]:
    return [ids.tolist() for ids in own.encode(texts)]


@settings(max_examples=400, deadline=None)
@given(texts=st.lists(LINES, max_size=6))
def test_ids_equal_the_models_own_on_any_list(tokenizer: Tokenizer, own: ReferenceTokenizer, texts: list[str]) -> None:
    assert ids_of(tokenizer.encode(texts)) == right_ids(own, texts)


def test_ids_equal_the_models_own_on_every_word_of_the_vocabulary(
    tokenizer: Tokenizer, own: ReferenceTokenizer, prepared_model: PreparedModel
) -> None:
    vocabulary = list(json.loads(prepared_model.tokenizer_json.read_text(encoding="utf-8"))["model"]["vocab"])
    assert len(vocabulary) == 30_522
    assert ids_of(tokenizer.encode(vocabulary)) == right_ids(own, vocabulary)


def test_ids_equal_the_models_own_on_every_pair_of_ascii_characters(tokenizer: Tokenizer, own: ReferenceTokenizer) -> None:
    characters = list(map(chr, range(128)))
    texts = [f"a{first}{second}b" for first in characters for second in characters]
    assert ids_of(tokenizer.encode(texts)) == right_ids(own, texts)


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


def test_neighbours_in_a_list_do_not_join(tokenizer: Tokenizer) -> None:
    before = tokenizer.fallback_texts
    encoded = tokenizer.encode(["x" * 60, "x" * 60, "[SE", "P]", ""])
    assert tokenizer.fallback_texts == before
    assert ids_of(encoded)[2:] == [ids_of(tokenizer.encode([text]))[0] for text in ("[SE", "P]", "")]


def test_several_reasons_in_one_text_count_it_once(tokenizer: Tokenizer, own: ReferenceTokenizer) -> None:
    texts = ["é [SEP] \x00 " + "x" * 200 + " é", "plain", "[SEP][SEP]", "é"]
    before = tokenizer.fallback_texts
    assert ids_of(tokenizer.encode(texts)) == right_ids(own, texts)
    assert tokenizer.fallback_texts == before + 3


def test_special_tokens_frame_every_text(tokenizer: Tokenizer) -> None:
    assert ids_of(tokenizer.encode(["", "the", "é"])) == [[101, 102], [101, 1996, 102], [101, 1041, 102]]


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


def test_a_lone_surrogate_is_no_text_and_counts_as_a_question_mark(tokenizer: Tokenizer) -> None:
    assert ids_of(tokenizer.encode(["bad \ud800 text"])) == ids_of(tokenizer.encode(["bad ? text"]))


def test_two_threads_with_a_tokenizer_each_get_the_same_ids(prepared_model: PreparedModel) -> None:
    texts = [f"line {number} from 10.0.0.{number % 256}: é {number:#x}" for number in range(2000)]
    found: list[NDArray[np.int32]] = []

    def encode() -> None:
        tokenizer = Tokenizer(prepared_model)
        found.append(tokenizer.encode(texts).ids)
        tokenizer.close()

    threads = [threading.Thread(target=encode) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(found[0], found[1])


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


@pytest.mark.process
@pytest.mark.parametrize("tiny", [Tiny(), Tiny(lowercase=False), Tiny(vocab_txt_only=True), Tiny(vocab_txt_only=True, lowercase=False)])
def test_other_vocabularies_agree_too(tiny: Tiny, tmp_path: Path) -> None:
    model = prepare_model(make_folder(tmp_path / "hf", tiny), tmp_path / "cache")
    tokenizer = Tokenizer(model)
    tokenizer.check_parity()
    own = ReferenceTokenizer(model.tokenizer_json.read_text(encoding="utf-8"))
    texts = ["Disk full ERROR: user1 failed-port", "[SEP] Error", "unknown Ω", "x" * 101]
    assert ids_of(tokenizer.encode(texts)) == right_ids(own, texts)
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
