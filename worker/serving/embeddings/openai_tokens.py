"""Token ids of OpenAI's tokenizer back to the texts that they were: LangChain's `OpenAIEmbeddings` sends ids and no texts.

Byte-pair tokens are bytes, so joined they are the text again, whatever tokenizer the model has. The file of ranks (1.7 MB) is not part
of this program; the setting `serve.openai_tokens` names it, and tiktoken's cache and several Python packages hold it.
"""

import hashlib
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from worker.embedding.model.vectors import TokenIds
from worker.serving.embeddings.embedding_errors import bad_request

CL100K_SHA256: Final = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
"""Of `cl100k_base.tiktoken`, as tiktoken checks it: the ranks of another tokenizer would give another text for every list."""


class RankFileError(Exception):
    """The user must name another file of ranks; the message is one line and names the file."""


class OpenAITokens:
    """Token i is `tokens[i]`; a list of ids is their bytes, one after the other.

    Thread: any; nothing changes.
    """

    def __init__(self, tokens: Sequence[bytes]) -> None:
        self._tokens = tokens

    def decode(self, ids: TokenIds, *, param: str) -> str:
        """Return the text of a list of ids of 0 or more; a character that its ends cut in two becomes U+FFFD.

        Raises EmbeddingRefused for an id without a text: a special one (cl100k's begin at 100257), or that of another tokenizer.
        """
        try:
            return b"".join([self._tokens[one] for one in ids.tolist()]).decode("utf-8", "replace")
        except IndexError:
            most = len(self._tokens) - 1
            message = f"'{param}' holds token ids up to {ids.max()}; OpenAI's tokenizer cl100k_base has texts for 0 to {most}."
            raise bad_request(message, param=param, code="unknown_token_id") from None


def read_openai_tokens(file: Path, *, sha256: str = CL100K_SHA256) -> OpenAITokens:
    """Read a file of ranks: lines of a token in base64, a space and its rank. Takes 0.1 s. Raises RankFileError."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise RankFileError(f"{file} cannot be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise RankFileError(f"{file} is not cl100k_base.tiktoken, or is damaged: its SHA-256 does not begin with {sha256[:12]}")
    ranks = {int(rank): b64decode(token) for token, rank in map(bytes.split, content.splitlines())}
    return OpenAITokens([ranks[rank] for rank in range(len(ranks))])
