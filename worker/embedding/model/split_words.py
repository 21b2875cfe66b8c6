"""Splits names that programs make of words: `renewLease`, `DFSClient`, `max_open_files`.

`worker.embedding.tokenizer` does so before every text of a model that was trained on split texts. A word inside such a name is a few
meaningless pieces to a WordPiece tokenizer, and the word itself once it stands alone. Ids, stored texts and what is shown keep the name.
"""

import re
from typing import Final

_JOINED: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}|[A-Za-z0-9]_")
"""Is in every text that `_JOINT` changes, and is found in a fraction of its time."""
_JOINT: Final = re.compile(
    r"(?<=[a-z])(?=[A-Z][a-z])"  # renew|Lease
    r"|(?<=[a-z]{2})(?=[A-Z])"  # dfs|IO, but not Mi|B
    r"|(?<=[A-Z])(?=[A-Z][a-z]{2})"  # DFS|Client, but not I|Ds
    r"|(?<=[A-Za-z0-9])_+(?=[A-Za-z0-9])"  # max_open
)


def split_words(text: str) -> str:
    """Return the text with a space between the words of a joined name: linear, idempotent, and nothing else changes."""
    return _JOINT.sub(" ", text) if _JOINED.search(text) else text
