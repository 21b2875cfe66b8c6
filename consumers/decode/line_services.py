"""Finds service and host in lines of syslog's shape, as columns; `consumers.decode.from_line` asks.

Behind a time of syslog, or one of ISO 8601 with `T` and a zone, stand a host and a tag: `Dec 10 06:55:46 web-1 sshd[24200]: …`. The tag is
the service; what stands behind it in parentheses or brackets is not. The host is known only beside a tag. A tag without a host before it
counts too, one of more than 64 characters does not, nor one that is the name of a level or stands behind one. `find_services.c` reads the
lines.
"""

import re

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, coded, coded_alike, coded_texts, cut_texts, used_values, utf8_of
from consumers.decode.levels import level_of_name
from consumers.native import BYTES, PLACES, SIZE, array_of, c_function, output_of

Bytes = NDArray[np.uint8]
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*+")
"""A name or an address; one in brackets or of other letters is left out."""


def find_services(text: Column, start: Bytes, end: Bytes, kind: Bytes, zone_min: NDArray[np.int16]) -> tuple[Coded, Coded]:
    """Return the service and the host of each of n lines, empty where it names none.

    `start`, `end` and `kind`, uint8[n], and `zone_min`, int16[n], are those of `LineTimes`. Raises ValueError where one of them has another
    length.
    """
    if not len(text) == len(start) == len(end) == len(kind) == len(zone_min):
        raise ValueError(f"{len(text)} lines have times of {len(start)}, {len(end)}, {len(kind)} and {len(zone_min)}")
    data, places = utf8_of(text)
    begins, ends = np.empty(len(text), np.uint8), np.empty(len(text), np.uint8)
    _FIND_SERVICES(data, places, len(text), start, end, kind, zone_min, begins, ends)
    if not ends.any():
        return coded_alike("", len(text)), coded_alike("", len(text))
    found = coded(cut_texts(text, begins, ends))
    named = [*map(_service_and_host, found.values)]
    services, hosts = coded_texts(service for service, _ in named), coded_texts(host for _, host in named)
    return used_values(services.codes[found.codes], services.values), used_values(hosts.codes[found.codes], hosts.values)


def _service_and_host(found: str) -> tuple[str, str]:
    """Return the tag and the host of a host, a blank and a tag, or of a tag alone; both "" if one of them is the name of a level."""
    host, _, tag = found.rpartition(" ")
    return ("", "") if _is_level(tag) or _is_level(host) else (tag, host if _HOST.fullmatch(host) else "")


def _is_level(name: str) -> bool:
    """Whether this is the name of a level, of more than one letter."""
    return len(name) > 1 and bool(level_of_name(name))


_FIND_SERVICES = c_function(
    __file__,
    "find_services",
    "find_services",
    BYTES,
    PLACES,
    SIZE,
    BYTES,
    BYTES,
    BYTES,
    array_of(np.int16),
    output_of(np.uint8),
    output_of(np.uint8),
)
