"""Finds the service in lines of syslog's shape, as columns; `consumers.decode.from_line` asks.

Behind a time of syslog, or one of ISO 8601 with `T` and a zone, stand a host and a tag: `Dec 10 06:55:46 web-1 sshd[24200]: …`. The tag is
the service; what stands behind it in parentheses or brackets is not. A tag without a host before it counts too, one of more than
64 characters does not.
"""

from typing import Final

import numpy as np

from consumers.columns import Coded, coded, used_values
from consumers.decode.levels import level_of_name
from consumers.decode.line_heads import HEAD_BYTES, Bools, Heads, Longs, bits_from, lowest_bit, packed_bits, table_of
from consumers.decode.line_shapes import SYSLOG
from consumers.decode.line_times import head_slices
from consumers.decode.line_zones import NO_ZONE
from consumers.decode.times import LineTimes
from consumers.text.regex import find_matching

_BEHIND_TAG: Final = r"^(?:\([^()\s]*\))?(?:\[[^\[\]\s]*\])?(?: \([^()\s]*\))?(?: <\w+>)?:(?:\s|$)"
"""A module of PAM, the process, and what macOS adds: another process, and the level."""
_BLANK, _COLON, _T = (np.uint8(ord(character)) for character in " :T")
_DATE_BYTES = 10
_TAG = table_of("0123456789_-./abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_OPENS = table_of("(<")
_MOST_BITS: Final = 64
_FOLLOWS_TAG = table_of(":[(")
_FIRST_OF_TAG = table_of("_/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def find_services(heads: Heads, times: LineTimes) -> tuple[Longs, Coded]:
    """Return which of n lines name a service, ascending, and its name."""
    is_iso = (times.end > 0) & (times.start == 0) & (times.zone_min != NO_ZONE) & (heads.rows[:, _DATE_BYTES] == _T)
    rows = np.flatnonzero(is_iso | ((times.kind == SYSLOG) & (times.start <= 1)))
    # RFC 3164's separator is `: ` in Cisco's lines, which name no host and no tag: they are left out.
    rows = rows[heads.byte(heads.base[rows] + times.end[rows]) == _BLANK]
    blanks = packed_bits(heads.rows[rows] == _BLANK)
    host = times.end[rows] + 1
    behind_host = host + lowest_bit(bits_from(blanks, np.minimum(host, HEAD_BYTES - 1)))
    has_host = heads.byte(heads.base[rows] + np.minimum(behind_host, HEAD_BYTES) - 1) != _COLON
    tag = np.where(has_host, behind_host + 1, host)
    keep = np.flatnonzero((behind_host > host) & (tag < heads.length[rows]))
    rows, host, behind_host, has_host, tag = rows[keep], host[keep], behind_host[keep], has_host[keep], tag[keep]
    # Most lines are no syslog: they have no colon at the end of the word, nor what macOS puts behind it.
    word_bytes = lowest_bit(bits_from(blanks[keep], np.minimum(tag, HEAD_BYTES - 1)))
    behind_word = np.minimum(tag + word_bytes, heads.length[rows])
    ends_tag = (heads.byte(heads.base[rows] + behind_word - 1) == _COLON) | _OPENS[heads.byte(heads.base[rows] + behind_word + 1)]
    keep = np.flatnonzero(ends_tag | (word_bytes >= _MOST_BITS))
    rows, host, behind_host, has_host, tag = rows[keep], host[keep], behind_host[keep], has_host[keep], tag[keep]
    behind_tag = tag + lowest_bit(~bits_from(packed_bits(_TAG[heads.rows[rows]]), tag))
    is_good = (behind_tag > tag) & (behind_tag < heads.length[rows])
    is_good &= _FOLLOWS_TAG[heads.byte(heads.base[rows] + np.minimum(behind_tag, HEAD_BYTES - 1))]
    is_good &= _FIRST_OF_TAG[heads.byte(heads.base[rows] + tag)]
    keep = np.flatnonzero(is_good)
    rows, host, behind_host, has_host, tag, behind_tag = (column[keep] for column in (rows, host, behind_host, has_host, tag, behind_tag))
    keep = np.array(find_matching(head_slices(heads, rows, behind_tag, heads.length[rows]), _BEHIND_TAG), np.int64)
    rows, host, behind_host, has_host, tag, behind_tag = (column[keep] for column in (rows, host, behind_host, has_host, tag, behind_tag))
    tags = coded(head_slices(heads, rows, tag, behind_tag))
    hosts = coded(head_slices(heads, rows, host, behind_host))
    is_good = ~_are_levels(tags)[tags.codes] & ~(has_host & _are_levels(hosts)[hosts.codes])
    keep = np.flatnonzero(is_good)
    return rows[keep], used_values(tags.codes[keep], tags.values)


def _are_levels(names: Coded) -> Bools:
    """Return for each distinct name whether it is the name of a level, of more than one letter."""
    return np.array([len(name) > 1 and bool(level_of_name(name)) for name in names.values], np.bool_)
