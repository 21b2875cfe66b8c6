"""A list of token ids is embedded only if this model's own tokenizer wrote it."""

import json

import numpy as np
import pytest

from tests.worker.embedding.model.tiny_tokenizers import tokenizer_json, unigram_json
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer
from worker.embedding.model.vectors import TokenIds
from worker.serving.embeddings.embedding_errors import EmbeddingRefused
from worker.serving.embeddings.embedding_request import TokenLists
from worker.serving.embeddings.openai_tokens import OpenAITokens
from worker.serving.embeddings.token_lists import OwnTokenIds, own_token_ids, resolved

PAD, CLS, SEP, MASK = 0, 101, 102, 103
BERT = OwnTokenIds(before=(CLS,), after=(SEP,), special=frozenset({PAD, CLS, SEP, MASK}), vocabulary_size=30_522, max_tokens=8)
ENDED = OwnTokenIds(before=(), after=(9,), special=frozenset({9}), vocabulary_size=10, max_tokens=4)
UNFRAMED = OwnTokenIds(before=(), after=(), special=frozenset(), vocabulary_size=10, max_tokens=4)


def ids(*given: int) -> TokenIds:
    return np.array(given, dtype=np.int32)


def is_own(rules: OwnTokenIds, *given: int) -> bool:
    return rules.first_foreign([ids(*given)]) is None


@pytest.mark.parametrize("given", [(CLS, SEP), (CLS, 2_054, SEP), (CLS, 100, 1, 30_521, SEP)])
def test_a_list_between_the_special_tokens_is_the_models_own(given: tuple[int, ...]) -> None:
    assert is_own(BERT, *given)


@pytest.mark.parametrize(
    "given",
    [
        (CLS,),
        (SEP,),
        (SEP, CLS),
        (2_054,),
        (2_054, 7_592),
        (CLS, 2_054),
        (2_054, SEP),
        (CLS, 2_054, SEP, PAD),
        (CLS, PAD, SEP),
        (CLS, 2_054, SEP, 7_592, SEP),
        (CLS, CLS, SEP),
        (CLS, MASK, SEP),
        (CLS, 30_522, SEP),
        (CLS, 2**31 - 1, SEP),
    ],
)
def test_any_other_list_is_of_another_tokenizer(given: tuple[int, ...]) -> None:
    assert not is_own(BERT, *given)


def test_a_model_may_end_a_text_and_not_begin_it_but_one_that_does_neither_owns_no_list() -> None:
    assert is_own(ENDED, 1, 9)
    assert is_own(ENDED, 9)
    assert not is_own(ENDED, 1)
    assert not is_own(ENDED, 9, 9)
    assert not is_own(UNFRAMED, 1)


def test_the_first_foreign_list_is_named() -> None:
    lists = TokenLists((ids(CLS, 7, SEP), ids(9_988, 11), ids(7)))
    with pytest.raises(EmbeddingRefused, match=r"'input\[1\]' holds token ids of another tokenizer") as refused:
        resolved(lists, own=BERT, openai_tokens=None, param="input")
    assert (refused.value.status, refused.value.code) == (400, "token_ids_of_another_tokenizer")


def test_with_openais_ranks_foreign_lists_are_texts_and_own_ones_stay() -> None:
    tokens = OpenAITokens([bytes([one]) for one in range(256)])
    own = TokenLists((ids(CLS, 65, SEP),))
    assert resolved(own, own=BERT, openai_tokens=tokens, param="input") is own
    assert resolved(TokenLists((ids(*b"disk"), ids(*b"full"))), own=BERT, openai_tokens=tokens, param="input") == ("disk", "full")
    with pytest.raises(EmbeddingRefused, match=r"'input\[1\]' holds token ids up to 256"):
        resolved(TokenLists((ids(65), ids(256))), own=BERT, openai_tokens=tokens, param="input")


def test_the_rules_are_those_of_the_models_files(plain_model: PreparedModel, own: ReferenceTokenizer) -> None:
    rules = own_token_ids(plain_model.tokenizer_json.read_text("utf-8"), vocabulary_size=plain_model.vocabulary_size, max_tokens=8)
    assert rules == BERT
    written = own.encode(["", "disk full", "\U0001f600 \U00010600", "[MASK]"])
    assert rules.first_foreign(written[:3]) is None
    assert rules.first_foreign(written) == 3


def test_a_vocabulary_of_another_family_frames_and_has_an_unknown_token_too() -> None:
    written = json.dumps(unigram_json())
    rules = own_token_ids(written, vocabulary_size=1_000, max_tokens=8)
    assert (rules.before, rules.after, rules.special) == ((0,), (2,), frozenset({0, 1, 2}))
    assert rules.first_foreign(ReferenceTokenizer(written).encode(["disk full \U0001f600"])) is None


def test_what_is_not_marked_as_special_but_frames_a_text_is() -> None:
    parsed = tokenizer_json()
    for one in parsed["added_tokens"]:
        one["special"] = False
    assert own_token_ids(json.dumps(parsed), vocabulary_size=100, max_tokens=8).special == frozenset({2, 3})


def test_a_text_that_is_too_long_is_refused_and_which() -> None:
    with pytest.raises(EmbeddingRefused, match=r"maximum context length is 8 tokens, however you requested 9 tokens in 'input\[1\]'"):
        BERT.fitted([ids(*[1] * 8), ids(*[1] * 9), ids(*[1] * 10)], truncate="no", param="input")


def test_a_text_that_is_cut_ends_as_every_text_does() -> None:
    fitted = BERT.fitted([ids(CLS, *range(1, 7), SEP), ids(CLS, *range(1, 8), SEP), ids(CLS, SEP)], truncate="end", param="input")
    assert [one.tolist() for one in fitted.ids] == [[CLS, *range(1, 7), SEP], [CLS, *range(1, 7), SEP], [CLS, SEP]]
    assert {one.dtype for one in fitted.ids} == {np.dtype(np.int32)}
    assert (fitted.truncated, fitted.tokens) == ((1,), 18)


def test_a_request_has_as_many_tokens_as_openai_allows_and_no_more() -> None:
    large = OwnTokenIds(before=(CLS,), after=(SEP,), special=frozenset(), vocabulary_size=30_522, max_tokens=200_000)
    half = np.ones(150_000, dtype=np.int32)
    assert large.fitted([half, half], truncate="no", param="input").tokens == 300_000
    with pytest.raises(EmbeddingRefused, match="'input' has 300001 tokens in all; a request may have 300000"):
        large.fitted([half, half, ids(1)], truncate="no", param="input")
