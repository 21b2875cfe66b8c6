"""Lines on which tokenizers are known to disagree, among ordinary log lines: drawn from a seed, the same every time.

Half of them are what llama.cpp may encode; the other half mixes in what only the model's own tokenizer gets right.
"""

import string
from collections.abc import Callable, Sequence
from random import Random

CONTROLS = [*map(chr, range(0x20)), "\x7f", *map(chr, range(0x80, 0xA0)), "\x00", "\x1b[31m"]
SPACES = ["\t", "\r\n", "\n", "\x0b", "\x0c", "\x85", "\xa0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"]
INVISIBLE = ["\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\ufe0f", "\ufffd", "\ue000", "\U000e0001", "\U0010ffff"]
ACCENTS = [*"éÅßİ\u0131ñçøœﬁǄ\u017f\u212a", "e\u0301", "a\u0308\u0323", "\u0301", "o\u0302\u0301", "ệ", "Ω", "\u0345"]
SCRIPTS = ["中", "日志", "エラー", "오류", "ошибка", "σφάλμα", "خطأ", "त्रुटि", "\U00020000", "\u2e80", "\uff41\uff22", "ไทย"]
EMOJI = ["\U0001f4a5", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f", "\U0001f1e9\U0001f1ea", "\U0001f44d\U0001f3fd"]
SPECIAL = ["[SEP]", "[CLS]", "[MASK]", "[PAD]", "[UNK]", "[unused1]", "[unused99]", "[PAD30522]", "<s>", "</s>", "<|im_end|>"]
PARTS = ["##ing", "##", "#", "\u2581", "\u2581the", "[", "]", "[SE", "SEP]", "[[SEP]]", "[ SEP ]", "[\tSEP]", "[S\x00EP]", "[SE\u00adP]"]
SURROGATES = ["\ud800", "\udfff", "\udc80\ud83d"]
LONG = [99, 100, 101, 1000]
_ASCII = [*map(chr, range(0x20, 0x7F)), "\t", "\r", "\n"]
_KINDS: Sequence[Sequence[str]] = [CONTROLS, SPACES, INVISIBLE, ACCENTS, SCRIPTS, EMOJI, SPECIAL, PARTS, SURROGATES]


def odd_lines(seed: int, count: int, words: Sequence[str]) -> list[str]:
    """Return `count` lines; ordinary words come from `words`."""
    random = Random(seed)
    plain = [word for word in words if word.isascii() and word.isalnum()]
    return ["".join(_line(random, plain)) for _ in range(count)]


def _line(random: Random, words: Sequence[str]) -> list[str]:
    kind = random.random()
    if kind < 0.5:
        return _ordinary(random, words)
    if kind < 0.6:
        return random.choices(_ASCII, k=random.randrange(40))
    if kind < 0.602:
        return _ordinary(random, words) * random.randrange(10, 60)
    if kind < 0.65:
        return _character_soup(random)
    line = _ordinary(random, words)
    for _ in range(random.randint(1, 4)):
        line.insert(random.randint(0, len(line)), _odd(random, words))
    return line


def _ordinary(random: Random, words: Sequence[str]) -> list[str]:
    line: list[str] = []
    for _ in range(random.randrange(9)):
        line += (
            _ORDINARY[int(random.random() * len(_ORDINARY))](random, words),
            random.choice("        :=,/-._[]()\"'|\t") * random.randint(1, 2),
        )
    return line


_ORDINARY: Sequence[Callable[[Random, Sequence[str]], str]] = (
    lambda random, words: random.choice(words),
    lambda random, words: random.choice(words).upper() + random.choice(words),
    lambda random, _words: str(random.getrandbits(random.randint(1, 64))),
    lambda random, _words: f"{random.getrandbits(64):#x}",
    lambda random, _words: ".".join(str(random.getrandbits(8)) for _ in range(4)),
    lambda random, _words: "".join(random.choices(string.ascii_letters, k=random.randint(1, 12))),
    lambda random, words: f"[{random.choice(words)}]",
)


def _odd(random: Random, words: Sequence[str]) -> str:
    if random.random() < 0.2:
        length = random.choice(LONG)
        letters = random.choice(["w", "7", "=", "aB", "é", "中", "\u0301", random.choice(words), f"{random.choice(words)}-"])
        return (letters * length)[:length]
    piece = random.choice(random.choice(_KINDS))
    return random.choice([piece, piece, piece.lower(), piece.swapcase(), random.choice(words) + piece, piece + random.choice(words)])


def _character_soup(random: Random) -> list[str]:
    """Any characters: of the whole of Unicode, or close together."""
    if random.random() < 0.5:
        return [chr(random.randrange(0x110000)) for _ in range(random.randrange(12))]
    first = random.randrange(0x3000)
    return [chr(first + random.randrange(256)) for _ in range(random.randrange(12))]
