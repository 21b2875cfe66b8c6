"""Finds who says lines of the usual layouts of text, as columns; `consumers.decode.from_line` asks.

`find_names.c` finds a name by its place: `10:00:00 INFO gateway: x`, `10:00:00 ERROR [main] shop.Cart - x`. Here its words are judged: what
only labels a message (`note:`), a file, the class of an exception and a thread are no names. What is not sure is left empty.
"""

import re
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, coded, coded_alike, coded_texts, cut_texts, used_values, utf8_of
from consumers.native import BYTES, PLACES, SIZE, c_function, output_of

Bytes = NDArray[np.uint8]

_LABEL_WORDS: Final = (
    "note notes hint usage detail details info debug message msg reason cause context summary error errors failure fail exception "
    "timeout problem fault caution todo fixme deprecated status state result results output input response request query statement "
    "command cmd args url uri path file filename dir directory host hostname ip port address user username id key value name type "
    "version code size count total time date duration took step expected actual got found missing unknown invalid none null true "
    "false ok done success http https tcp udp sql json xml line at in on to from by with for and or option options config "
    "configuration setting settings example default event action data payload main root attempt retry loading starting stopping "
    "running using waiting sending processing listening"
)
_LABELS: Final = frozenset(_LABEL_WORDS.split())
"""Words before a colon that say what follows, not who says it."""
_ENDS_IN_ED: Final = re.compile(r"(?:[^-_]*+[-_])*[a-z]{3,}ed")
_FILE: Final = re.compile(
    r".*\.(?:txt|ya?ml|json|conf|cfg|ini|toml|log|py|go|js|ts|java|kt|rs|c|h|cc|cpp|cs|rb|php|pl|xml|html?|css|sh|exe|dll|so|sql|csv|jar|war"
    r"|gz|zip|tar|lock|pem|crt|key|com|org|net|io|dev|local|internal|sock|service|pid|tmp|bak|img|png|jpe?g|pdf)",
    re.IGNORECASE,
)
_EXCEPTION: Final = re.compile(r".*(?:Exception|Error|Warning|Throwable|Fault|Failure)")
_THREAD: Final = re.compile(r"main|.*\d|.*(?:thread|exec|executor|pool|worker|daemon|scheduler|timer|async|nio|eventloop).*")
_LONGEST_NAME: Final = 64


def find_names(text: Column, start: Bytes, end: Bytes) -> tuple[Coded, Coded]:
    """Return the service and the logger of each of n lines, empty where it names none.

    `start` and `end`, uint8[n], are those of `LineTimes`. Raises ValueError where one of them has another length.
    """
    if not len(text) == len(start) == len(end):
        raise ValueError(f"{len(text)} lines have times of {len(start)} and {len(end)}")
    data, places = utf8_of(text)
    spans = np.empty(4 * len(text), np.uint8)
    _FIND_NAMES(data, places, len(text), start, end, spans)
    service_begin, service_end, logger_begin, logger_end = spans.reshape(4, len(text))
    return _judged(text, service_begin, service_end, is_service), _judged(text, logger_begin, logger_end, is_logger)


def _judged(text: Column, begins: Bytes, ends: Bytes, is_one: Callable[[str], bool]) -> Coded:
    """Return the stretch of each text, empty where there is none or it is none."""
    if not ends.any():
        return coded_alike("", len(text))
    found = coded(cut_texts(text, begins, ends))
    names = coded_texts(name if is_one(name) else "" for name in found.values)
    return used_values(names.codes[found.codes], names.values)


def is_service(name: str) -> bool:
    """Whether a name before a colon, in lower case, may be that of a service."""
    return len(name) <= _LONGEST_NAME and name not in _LABELS and not _ENDS_IN_ED.fullmatch(name)


def is_logger(name: str) -> bool:
    """Whether a name that stands where a logger does is one; a plain word may be a thread or a label."""
    if len(name) > _LONGEST_NAME or _EXCEPTION.fullmatch(name) or "-thread" in name:
        return False
    if name.islower() and "." not in name and ":" not in name:
        return is_service(name) and not _THREAD.fullmatch(name)
    return not _FILE.fullmatch(name)


_FIND_NAMES = c_function(__file__, "find_names", "find_names", BYTES, PLACES, SIZE, BYTES, BYTES, output_of(np.uint8))
