"""Says whether the words that stand at one place of a message vary without saying anything, or say what happened.

Used only to suggest masks, which a person then reads: when unsure, the answer is that they tell something.
"""

import re
from collections.abc import Collection

from consumers.text import key_classes

_MOST_TELLING_SHARE = 0.1
"""Of the words; among many user names one may be called `info`."""
MOST_FIXED_SHARE = 0.34
_LEAST_NAMES = 3
_LEAST_WORDS = 5
"""Words without any sign of a name (a digit, a dot, a capital within) may be ordinary ones; more of them are needed."""
_LEAST_NAME_SHARE = 0.5

_TELLING = re.compile(
    r"emerg|alert|crit|critical|err|errors?|warn|warnings?|notice|info|debug|trace|fatal|severe|panic|ok|okay"
    r"|true|false|yes|no|on|off|null|nil|none|undefined|enabled|disabled|active|inactive|up|down|in|out|not"
    r"|get|put|post|delete|head|options|patch|connect|read|write|open|close|start|stop|send|receive|recv"
    r"|success|successful|successfully|failure|fail|denied|valid|invalid|unknown|missing|busy|idle|ready"
    r"|primary|secondary|master|slave|leader|follower|local|remote|client|server",
    re.IGNORECASE,
)
_CODE = re.compile(r"[A-Z][A-Z0-9]+(?:[_-][A-Z0-9]*)*")
_FAULT = re.compile(r"(?:Exception|Error|Failure|Fault|Timeout|Interrupt)$")
_PARTICIPLE = re.compile(r"[a-z]{3,}(?:ed|ing)")
_CODE_NAME = re.compile(r"\w::~?\w")
"""A function of C++ or Rust: a part of the program says who it is."""
_NAME = re.compile(r"[\d./\\@_:$~%]|[^\W\d_]-[^\W_]|[a-z][A-Z]|[^\x00-\x7f]")
_ROUTE = re.compile(r"\b(?:GET|POST|PUT|DELETE|HEAD|PATCH|OPTIONS)\W+$")
"""What is asked for tells what was done; ids within a path are masked already."""
_KEY = re.compile(r"([\w.-]+)\s*[=:]\W*$")
_EDGES = " \t\"'`()[]{}<>,;:.!?"


def varies(words: Collection[str], fixed: Collection[str], *, before: str = "", most_fixed: float = MOST_FIXED_SHARE) -> bool:
    """Return whether these distinct words are values: enough of them, names rather than codes, states or other telling words.

    `fixed` are words that stand where nothing varies, `before` is what precedes all of them: `user=`, `reason =`;
    `most_fixed` is the share of the words that may be among `fixed`.
    """
    bare = {word.strip(_EDGES) for word in words} - {""}
    key = _KEY.search(before)
    key_varies = None if key is None else key_classes.varies(key[1])
    if len(bare) < _LEAST_NAMES or key_varies is False or _ROUTE.search(before):
        return False
    names = sum(_NAME.search(word) is not None and not is_telling(word) for word in bare)
    if len(bare) < (_LEAST_NAMES if names >= _LEAST_NAME_SHARE * len(bare) or key_varies else _LEAST_WORDS):
        return False
    telling = sum(map(is_telling, bare))
    return telling <= _MOST_TELLING_SHARE * len(bare) and len(bare.intersection(fixed)) <= most_fixed * len(bare)


def is_telling(word: str) -> bool:
    """Return whether a word, without punctuation around it, says what happened: a level, a state, a code, a method, an exception."""
    return (
        _TELLING.fullmatch(word) is not None
        or _CODE.fullmatch(word) is not None
        or any(pattern.search(word) is not None for pattern in (_FAULT, _CODE_NAME))
        or _PARTICIPLE.fullmatch(word) is not None
    )
