r"""The built-in masks: patterns of what varies in logs, written from the formats that programs print, not from one system's files.

RE2 syntax; `\b`, `\d` and `\w` are ASCII. Every built-in mask replaces its match by nothing (`consumers/text/mask.py` says why). The masks
of one row of `PASSES` are tried in this order at each place, in one pass; `consumers/text/strip_numbers.py` applies `unit` and `number`.

No pattern may distinguish one digit from another, except `0x`, and none before `hex` may remove what stands directly after a digit:
`consumers/text/text_forms.py` relies on both.

No pattern may look far beyond its match, or a hostile line would take quadratic time. Where a format ends in digits, a pattern may stop
early, as `number` removes the rest.
"""

from typing import NamedTuple


class Mask(NamedTuple):
    r"""A named pattern (RE2 syntax) and its replacement (`\1` is the match's first group)."""

    name: str
    pattern: str
    replacement: str


_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_HEX = "[0-9a-fA-F]"
_HEAD = rf"(?:<\d+>)?{_MONTH} +\d+ \d\d:\d\d:\d\d "
_STAMP = r"\d+-\d+-\d+T[\d.:Z+-]+"
_LEVEL = "(?i:emerg|alert|crit|critical|err|error|warn|warning|notice|info|debug|trace|fatal|severe)"
UNITS = ("ns", "us", "ms", "kB", "KB", "MB", "GB", "TB", "kb", "mb", "gb", "AM", "PM", "am", "pm")
LETTER_UNITS = "smhdBKMGTZ"
SPACED_UNITS = "shKMGT"
"""Of one letter, behind a number that is no code and a blank."""

VARIABLE_MASKS = (
    # values of compact JSON, by their keys (`consumers/text/mask_json.py`)
    Mask("json", "", ""),
    # the host in the head of a syslog line (RFC 3164, RFC 5424): Dec 10 06:55:46 gw sshd[24200]: · <34>1 2003-10-11T22:14:15Z gw su -
    # not the first word of Dec 10 06:55:46 Failed to start, nor a level before the tag; the version, 1, goes too, or su would be next
    Mask("host", rf"^(?:({_HEAD})(?:({_LEVEL} +)|\w[\w.-]* +)([\w./()%@-]+[:\[])|(<\d+>)\d+( (?:-|{_STAMP}) )\w[\w.:-]* )", r"\1\2\3\4\5"),
    Mask("email", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", ""),
    # values in a query string; their names stay
    Mask("query", r"""([?&][\w.%-]+=)[^\s&"'<>]+""", r"\1"),
    # Dec  4 04:47:44 · Sun Dec 04 04:47:44 2005 · Mon, 12 Jan 2026 03:04:05 +0000 · 10/Oct/2000:13:55:36 -0700 · 2-Nov-2021 10:00
    Mask("date", rf"\b(?:{_DAY},? +)?(?:\d+[ /-])?{_MONTH}[ /-]+\d+(?:[:/.,-]\d+)*(?: [+-]?\d+(?:[:.,]\d+)*)*", ""),
    # somebody at a host: backup@web-7
    Mask("at", r"(^|[^\w.$@+:/-])[a-z\d_][a-z\d_.+-]*@[A-Za-z\d][\w-]*([^\w.@-]|\.?$)", r"\1\2"),
    # words with digits that are names or values: cart-7f9c-x2x9z · web01 · kafka:9092 · 1.2.3-rc1 (`consumers/text/drop_words.py`)
    Mask("word", "", ""),
    # UUIDs, MAC addresses, IPv6 addresses of five groups and more, 2024-01-02T03:04:05.678Z
    Mask("groups", rf"\b{_HEX}+(?:(?:-|::?|T){_HEX}+){{4,}}(?:[.,]\d+)?Z?\b", ""),
    # fe80::1 · 2001:db8::a1
    Mask("ipv6", rf"\b[a-fA-F]*\d{_HEX}*(?::{_HEX}+)*::(?:{_HEX}+(?::{_HEX}+)*\b)?", ""),
    # a UUID within a name: instance_550e8400-e29b-41d4-a716-446655440000_disk
    Mask("uuid", rf"(?:\b|_){_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}", ""),
    # alternating letters and numbers, as racks and slots are named: R20-M0-NE-C:J05-U01
    Mask("place", r"\b[A-Z]+\d+(?:[-:][A-Z]{1,2})*[-:][A-Z]+\d+(?:[-:][A-Z]{1,2}\d*)*\b", ""),
    # the letter between the numbers of an id: attempt_1445144423722_0020_m_000009
    Mask("attempt", r"_?\d+(?:_\d+)*_[A-Za-z]_\d+", ""),
    # 5 secs · 1.5 min; seconds and minutes in full say what was measured
    Mask("duration", r"[-+]?\d+(?:[.,:]\d+)* ?(?:(?i:[mun]?secs?|mins?|hrs?)\b|[µμ]s\b)", ""),
    # 2.5 s · 17 KiB · 3G: as where nothing stands between number and unit; `unit` knows that the number of HTTP 503 s is a code
    Mask("measure", r"[-+]?\d+(?:(?:[.,:]\d+)+ ?(?:[sh]|[KMGTP]B?)|(?:[.,:]\d+)* ?[KMGTP]iB|[KMGTP]i?B?)\b", ""),
    # at least one digit and one letter: 0x1f · 00544ea8 · a94a8fe5ccb19ba61c4c; not E1234
    Mask("hex", rf"(?:\b|[_-])(?:0x|\d+[a-fA-F]|[a-fA-F][a-fA-F]+\d|[a-dA-Def]\d){_HEX}*\b", ""),
    # two runs of digits with letters between: 8f3kd92 · x2x9z · 1h20m · the middle of 2024-01-02T03:04:05
    Mask("mixed", r"(?:\b|[_-])[A-Za-z]{0,2}\d+[A-Za-z]+\d[A-Za-z\d]*\b", ""),
    # what follows a number: 12ms · 3.5 GB · 10K · 10:00 PM · 03:04:05Z
    Mask("unit", rf"\d(?: ?(?:{'|'.join(UNITS)})|[{LETTER_UNITS}])\b", ""),
    # the whole of 10.251.39.209:50010, 2005-06-03-15.42.50.675872 and 1,234; blk in blk_-160; not 503 in HTTP 503
    Mask("number", r"[-+_#]{0,2}\d+(?:[.,:/]\d+|[-+_#]{1,2}\d+)*", ""),
)
"""In the order of application: longer formats before the numbers in them."""

VERSION_2_MASKS = ("host", "email", "query", "date", "groups", "ipv6", "place", "hex", "mixed", "unit", "number")
"""With all others disabled, lines are masked as by version 2; benchmarks compare with it."""
NEW_IN_VERSION_5 = ("field", "at", "word", "measure", "named", "angle", "slashed", "file", "items", "name")
"""Without these, lines are masked as by version 4, but for the values of some keys (`consumers/text/key_classes.py`)."""

PASSES = (("date",), ("groups",), ("uuid", "place", "attempt", "duration", "measure", "hex", "mixed"))
"""The masks that keep nothing of their matches, searched for in all texts, pass by pass."""
NEEDS = {"email": "@", "at": "@", "query": "?", "ipv6": "::"}
"""A literal that every match of this mask contains, so that most texts need not be searched."""
STARTS = {"host": "<JFMASOND"}
"""The characters of which a text must begin with one for this mask to match."""
