"""The texts on which every start compares the two tokenizers, and how a difference between them is shown.

`Tokenizer.check_parity` and `vectail model check` use it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_SHOWN_CHARACTERS = 80

SAMPLE = (
    "",
    " ",
    "\t \r\n",
    "".join(map(chr, range(0x20, 0x7F))),
    "Failed password for invalid user admin from 203.0.113.86 port 38926 ssh2",
    "2026-01-31 23:59:59,978 INFO [main] com.example.orders.OrderService$Retry: order 00042 accepted in 12.5ms (attempt=1/3)",
    '{"level":"WARN","msg":"retry=3 after 250ms","path":"/api/v1/users?id=42&x=%20","ok":false}',
    "blk_-1234567890123456789 src: /10.1.2.3:54106 dest: /10.1.2.4:50010",
    "a_b-c.d~e^f`g|h\\i$j<k>l=m+n@o#p!q?r;s:t,u'v\"w{x}y[z]",
    "text with [SEP] and [CLS] and [MASK] and [PAD] and [UNK] and [unused1] in it",
    "[sep] [cls] ##ing ## \u2581word",
    "w" * 100,
    "w" * 101,
    "short " + "0123456789abcdef" * 20 + " short",
    "=" * 255,
    "Überlauf café naïve ÅNGSTRÖM İstanbul ﬁn",
    "中文日志 エラー 오류 ошибка σφάλμα",
    "disk full \U0001f4a5 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f",
    "nul \x00 bell \x07 escape \x1b[31m delete \x7f vertical \x0b form \x0c next \x85 soft\u00adhyphen",
    "no\u00a0break em\u2003space zero\u200bwidth bom\ufeff \u2028 replaced \ufffd private \ue000",
)
"""Texts on which tokenizers are known to disagree, and ordinary log lines."""


class TokenDifference(NamedTuple):
    """A text to which two tokenizers give different ids."""

    text: str
    found: NDArray[np.int32]
    """The ids that vectail would use: int32[n]."""
    wanted: NDArray[np.int32]
    """The ids of the model's own tokenizer: int32[m]."""

    def first_index(self) -> int:
        """Index of the first id that differs or that only one of the two has."""
        shorter = min(len(self.found), len(self.wanted))
        differing = np.flatnonzero(self.found[:shorter] != self.wanted[:shorter])
        return int(differing[0]) if len(differing) else shorter

    def quoted(self) -> str:
        """Return the beginning of the text, in quotes and in ASCII only."""
        return ascii(self.text[:_SHOWN_CHARACTERS]) + ("…" if len(self.text) > _SHOWN_CHARACTERS else "")

    def __str__(self) -> str:
        """Return one line: the text, and the first id that differs."""
        index = self.first_index()
        found, wanted = (str(ids[index]) if index < len(ids) else "none" for ids in (self.found, self.wanted))
        return f"{self.quoted()}: token {index} is {found}, and {wanted} there"
