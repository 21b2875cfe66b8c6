"""Ids of OpenAI's tokenizer are the bytes of their text; nothing else is read as ranks."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from worker.serving.embeddings.embedding_errors import EmbeddingRefused
from worker.serving.embeddings.openai_tokens import OpenAITokens, RankFileError, read_openai_tokens

TOKENS = (*(bytes([one]) for one in range(256)), b"disk", b" full", "ä".encode())
TEXT_IDS = [256, 257, 258, 10]


def ranks(tokens: tuple[bytes, ...] = TOKENS) -> bytes:
    return b"".join(b"%s %d\n" % (b64encode(token), rank) for rank, token in enumerate(tokens))


def decoded(tokens: OpenAITokens, *ids: int) -> str:
    return tokens.decode(np.array(ids, dtype=np.int32), param="input[2]")


def test_a_file_of_ranks_gives_the_text_back(tmp_path: Path) -> None:
    file = tmp_path / "ranks"
    file.write_bytes(ranks())
    assert decoded(read_openai_tokens(file, sha256=sha256(ranks()).hexdigest()), *TEXT_IDS) == "disk fullä\n"


def test_the_order_of_the_lines_is_not_that_of_the_ranks(tmp_path: Path) -> None:
    file, turned = tmp_path / "ranks", b"\n".join(reversed(ranks().splitlines()))
    file.write_bytes(turned)
    assert decoded(read_openai_tokens(file, sha256=sha256(turned).hexdigest()), *TEXT_IDS) == "disk fullä\n"


def test_a_character_may_be_in_several_tokens_and_cut_at_the_ends() -> None:
    tokens, sign = OpenAITokens(TOKENS), "😀".encode()
    assert decoded(tokens, *sign) == "😀"
    assert decoded(tokens, *sign[2:], 256, *sign[:3]) == "��disk�"


@pytest.mark.parametrize("unknown", [259, 100_257, 2**31 - 1])
def test_an_id_without_a_text_is_refused(unknown: int) -> None:
    with pytest.raises(EmbeddingRefused, match=rf"'input\[2\]' holds token ids up to {unknown}; .* 0 to 258") as refused:
        decoded(OpenAITokens(TOKENS), 1, unknown, 2)
    assert (refused.value.status, refused.value.param, refused.value.code) == (400, "input[2]", "unknown_token_id")


def test_a_file_that_is_missing_or_another_is_named_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RankFileError, match=r"^.*absent cannot be read: No such file or directory$"):
        read_openai_tokens(tmp_path / "absent")
    file = tmp_path / "o200k_base.tiktoken"
    for content in (b"", ranks(), ranks()[:-7]):
        file.write_bytes(content)
        with pytest.raises(RankFileError, match=r"^.*o200k_base\.tiktoken is not cl100k_base\.tiktoken, or is damaged"):
            read_openai_tokens(file)
