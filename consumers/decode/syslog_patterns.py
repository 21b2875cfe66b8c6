"""How the heads of syslog messages are written: one pattern of RE2 for each form, with a group `head` that is all before the text.

Groups: `pri`, `time`, `host`, `tag`, `pid`, `msgid`, `sd`; `before`, `tag2` and `pid2` are the same at another place. Of two groups of one
thing only one takes part in a match. `consumers.decode.syslog_heads` says in which order the patterns are tried.
"""

import re
from typing import Final

PRIORITY: Final = r"<(?P<pri>\d{1,3})>"
_MONTH: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK: Final = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_OFFSET: Final = r"[+-]\d\d:?\d\d"
_BSD: Final = rf"(?:\d{{4}} )?{_MONTH} (?: \d|\d\d?)(?: \d{{4}})? {_CLOCK}"
_ISO: Final = rf"\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?:Z|{_OFFSET})?"
_HOST: Final = r"(?P<host>[^\s:\[]+)"
_TAG: Final = r"(?P<tag>[A-Za-z0-9_./@%+~#$-]+)(?:\([^()\s]*\))?"
_PROCESS: Final = r"(?:\[(?P<pid>[^\]\s]+)\]:? ?|:(?: |$))"
_TAG_AND_PROCESS: Final = _TAG + _PROCESS
_OTHER_TAG_AND_PROCESS: Final = _TAG_AND_PROCESS.replace("<tag>", "<tag2>").replace("<pid>", "<pid2>")
_ELEMENT: Final = r'\[[^\s=\]"\[]+(?: +[^\s=\]"]+="(?:[^"\\]|\\.)*")* *\]'
_COLONS: Final = r'\[(?:[A-Za-z0-9_.-]+:"(?:[^"\\]|\\.)*"; ?)*[A-Za-z0-9_.-]+:"(?:[^"\\]|\\.)*";? ?\]'
"""What Check Point writes in place of structured data."""
ZONE_NAMES: Final = (
    "UTC|GMT|ACDT|ACST|ADT|AEDT|AEST|AKDT|AKST|AST|AWST|BST|CAT|CDT|CEST|CET|CST|EAT|EDT|EEST|EET|EST|HKT|HST|IDT|IST|JST|KST|MDT|MEST|MET|"
    "MSK|MST|NDT|NST|NZDT|NZST|PDT|PKT|PST|SAST|SGT|WAT|WEST|WET|WIB|WITA|WIT"
)
"""Those that `line_times.c` reads."""
_ZONE: Final = rf"(?:(?:(?:UTC|GMT)[+-]\d{{1,2}}|[+-]\d\d)(?::?\d\d)?|{ZONE_NAMES})"
_OTHER_ZONE: Final = "[A-Z]{1,3}[SD]T"
IS_ZONE: Final = re.compile(_ZONE)
_STAMP: Final = rf"(?:\d{{4}}:\d\d:\d\d-{_CLOCK}|{_BSD}(?: \d{{4}}\b|{_OFFSET})?|{_ISO})(?: {_ZONE}(?: \d{{4}}\b)?)?"
"""With more that may be there: the year behind the clock, a zone, Sophos' date."""
_MNEMONIC: Final = r"%[A-Za-z0-9_]+-(?:[A-Za-z0-9_]+-)?\d-"
_OTHER_MNEMONIC: Final = r"(?:%%\d\d[A-Za-z0-9_]+/\d/|%[A-Za-z0-9_]+-(?:[A-Za-z0-9_]+-){0,3}\d-)"
"""Huawei's and H3C's, and Cisco's: the message's kind, which stays in the text."""
_END_OF_TIME: Final = r"(?: ?: ?| )"

_TO_SD: Final = rf"^(?P<head>{PRIORITY}1 (?P<time>[^\s]+) (?P<host>[^\s]+) (?P<tag>[^\s]+) (?P<pid>[^\s]+) (?P<msgid>[^\s]+) (?P<sd>-"
_TO_TEXT: Final = r"(?:$| ?[\r\n]+$| (?:\x{FEFF})? ?))"
"""rsyslog puts a blank before many messages, so one goes."""
_TO_PROCESS: Final = rf"{PRIORITY}1 (?P<time>{_ISO}) (?P<host>[^\s]+) (?P<tag>[^\s]+) (?P<pid>[^\s]+)"

WITHOUT_SD: Final = rf"{_TO_SD}) (?:\x{{FEFF}})?)[^\s\x{{FEFF}}]"
RFC_5424: Final = rf"(?s){_TO_SD}|(?:{_ELEMENT})+){_TO_TEXT}"
VERSION_AND_TAG: Final = rf"^(?P<head>{PRIORITY}1 (?P<time>{_ISO}) {_HOST} {_TAG_AND_PROCESS})"
NO_SD: Final = rf"(?s)^(?P<head>{_TO_PROCESS} (?:(?P<msgid>-)(?: -)? (?:(?P<sd>{_COLONS})(?:$| |[\r\n]+$))?)?)"
"""Heroku and Check Point: nothing in place of structured data, or what is none. Then `-` is the message's id; a word is text."""
EPOCH: Final = rf"^(?P<head>{PRIORITY}1 (?P<time>\d{{10}}(?:\.\d{{1,9}})?) (?P<host>[^\s]+) )"
"""Meraki."""

USUAL_BSD: Final = rf"^(?P<head>{PRIORITY}(?P<time>{_MONTH} [ \d]\d {_CLOCK}) {_HOST} {_TAG_AND_PROCESS})"
USUAL_ISO: Final = rf"^(?P<head>(?:{PRIORITY})?(?P<time>{_ISO}) {_HOST} {_TAG_AND_PROCESS})"
WITHOUT_HOST: Final = rf"^(?P<head>{PRIORITY}(?P<time>{_MONTH} [ \d]\d {_CLOCK}) {_TAG_AND_PROCESS})"
CISCO: Final = (
    rf"^(?P<head>{PRIORITY}(?:\d*: )?(?:(?P<before>[^\s:*]+): )?(?:\*{_BSD}(?: {_ZONE})?|\.?(?P<time>{_BSD}(?: {_ZONE})?))"
    rf"(?: {_OTHER_ZONE})?(?: (?P<host>[^\s:%]+))?{_END_OF_TIME}){_MNEMONIC}"
)
"""The mnemonic, `%SYS-5-CONFIG_I`, is the message's kind: it stays in the text. A star before the time says that the clock is not set."""
RFC_3164: Final = (
    rf"^(?P<head>(?:{PRIORITY} ?)?(?P<time>{_BSD}|{_ISO}) (?:"
    rf"{_TAG_AND_PROCESS}|(?P<host>[^\s]+)(?:$|[\r\n]| {{1,2}}(?:{_OTHER_TAG_AND_PROCESS})?)))"
)
NO_TIME_AT_ALL: Final = rf"^(?P<head>{PRIORITY} ?(?:{_TAG_AND_PROCESS})?)"

RELAYED: Final = (
    rf"^(?P<head>{PRIORITY} ?(?:{_BSD}|{_ISO}) (?P<host>[^\s]+) (?:\d+: )*(?:[^\s:*]+: )?"
    rf"\.?(?P<time>{_STAMP})(?: {_OTHER_ZONE})?{_END_OF_TIME}){_OTHER_MNEMONIC}"
)
"""A relay's time and host, then the device's own number and time, which counts."""
NUMBERED: Final = rf"^(?P<head>(?:{PRIORITY} ?)?(?P<time>{_BSD}|{_ISO}) (?P<host>[^\s]+) (?:\d+: )+(?:\*{_BSD}(?: {_ZONE})?: )?)"
MNEMONIC: Final = (
    rf"^(?P<head>(?:{PRIORITY} ?)?(?:\d*: ?)?(?:(?P<before>[^\s:*%]+) ?: )?(?:\d+: |\*[A-Za-z]\w*: )?"
    rf"(?:[A-Z0-9]+(?:/[A-Za-z0-9]+){{2,4}}:)?"
    rf"(?:(?:\*{_STAMP}|\.?(?P<time>{_STAMP}))(?: {_OTHER_ZONE})?(?: (?P<host>[^\s:%]+))?{_END_OF_TIME})?(?:{_TAG_AND_PROCESS})?)"
    rf"{_OTHER_MNEMONIC}"
)
"""Cisco and Huawei otherwise: no time, a task or a card before it, a process behind it."""
ROW: Final = rf"^(?P<head>(?:{PRIORITY} ?)?(?P<time>{_BSD}|{_ISO}) )\d+,\d{{4}}/"
"""Palo Alto without a host: the row of values is none."""
OTHER_STAMP: Final = (
    rf"^(?P<head>(?:{PRIORITY} ?)?(?P<time>{_STAMP})(?:: ?| (?:"
    rf"{_TAG_AND_PROCESS}|(?P<host>[^\s\[<]+)(?:$|[\r\n]| {{1,2}}(?:{_OTHER_TAG_AND_PROCESS})?)|)))"
)
TIME_ALONE: Final = rf"^(?P<head>(?:{PRIORITY} ?)?(?:(?P<time>{_STAMP}) )?)"
DEVICE: Final = rf"^(?P<head>{PRIORITY} ?(?P<host>[^\s:]+): )NetScreen device_id="

_WORDS: Final = r"[A-Za-z_][A-Za-z0-9_.-]*"
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
PAIRS: Final = rf' ?{_WORDS}=(?:{_QUOTED}|[^\s"=]*) +{_WORDS}='
"""Two of logfmt."""
SEPARATED: Final = rf' ?{_WORDS}=(?:{_QUOTED}|[^|=,"]*)[|,]{_WORDS}='
"""Two with a bar or a comma between them: Check Point for Splunk, Fortinet's CSV."""
OBJECT: Final = r'\{\s*"'
_VALID: Final = "<(?:[0-9]|[1-9][0-9]|1[0-8][0-9]|19[01])>"
_COUNT: Final = r"^(?:[\r\n\x00]{0,3}[1-9][0-9]{0,8} )?"
BEGINS: Final = (
    rf"{_COUNT}<[0-9]{{1,3}}>"
    rf"(?:1 | ?(?:[0-9]*: )?(?:[^\s:*]+: )?[*.]?(?:[0-9]{{4}} )?{_MONTH} [ 0-9]| ?[0-9]{{4}}-[0-9][0-9]-[0-9][0-9][T ][0-9])"
)
BEGINS_OTHERWISE: Final = (
    rf"{_COUNT}{_VALID} ?(?:"
    rf"{OBJECT}|{PAIRS}|{SEPARATED}|(?:CEF|LEEF): ?[0-9]|[^%\n]{{0,96}}{_OTHER_MNEMONIC}|[^\s:]+: NetScreen device_id="
    r"|[0-9]{4}[:/.][0-9][0-9][:/.][0-9][0-9][ T-][0-9]|[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}[ :][0-9]|\[[0-9]{4}-[0-9][0-9]-[0-9][0-9][T ][0-9]"
    r"|\[ *[0-9]+\.[0-9]{6}\] |[a-z][a-z0-9-]*(?:,[a-z0-9!-]+)+ "
    rf"|{_WORDS}\[[0-9]+\]: |[A-Za-z_][A-Za-z0-9_./-]{{1,63}}: )"
)
"""After a priority, what is written there and hardly in prose: an object, pairs, a mnemonic, a date, the kernel's clock, Mikrotik's topics,
a tag. A tag may still be a level: then it is none."""
