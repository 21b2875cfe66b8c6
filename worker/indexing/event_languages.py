r"""What the lines of one event look like in each language, as `worker.indexing.event_rules` matches them.

A rule gives each line a letter by the first pattern that fits, and an expression over letters says which neighbours are one event; how
letters are written is said there. Messages of exceptions go over several lines: `_message` is what may stand between an exception's own
line and the frames that prove it, never a line that begins like a record of its own (R). Expressions look ahead over bounded counts only,
and where letters end (`\Z`) they match, so that what is undecided stays open.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Start = Literal["java", "python", "go", "node", "dotnet", "ruby", "php", "rust"]


class EventRule(NamedTuple):
    """Lines of several records that are one event.

    Thread: any.
    """

    letters: tuple[tuple[str, str], ...]
    """A letter and the RE2 pattern of its lines; the first that fits counts."""
    event: re.Pattern[bytes]
    """An event of two lines or more, in letters."""


_MONTHS_AND_DAYS: Final = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun"
_LEVELS: Final = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE|ALERT|EMERG"
_RECORD: Final = (
    "R",
    (
        r"^[^\w\s]{0,3}(?:[0-9]{2,4}[-/.][0-9]{2}[-/.]|[0-9]{2}:[0-9]{2}:|[0-9]{8}[T ]|[IWEFD][0-9]{4} |[DIWEF], \["
        rf"|(?:{_MONTHS_AND_DAYS})[a-z]*[ ,]|(?:{_LEVELS})\b|(?:trace|debug|info|warn|http): |\"\w+\":|\w+=)"
    ),
)
"""A line that begins with a time, a level, or as JSON and logfmt do."""


def _message(letters: str, ends: str) -> str:
    r"""Return the expression of up to a dozen lines of these letters before one of `ends`, or before all that has arrived so far."""
    return rf"[{letters}]{{1,12}}(?=[{ends}]|\Z)"


def _framed(frames: str, frame: str) -> re.Pattern[bytes]:
    r"""Return the event of a line, perhaps with an exception's own line (X, or E if it begins an event), its message, and frames.

    `frames` are letters of lines that belong wherever they follow, `frame` those that prove an exception's line. C begins a cause, whose
    message may go over lines too.
    """
    message = _message("OBI", frame)
    own = rf"(?:{message}|(?=[{frame}]|\Z))"
    begins = rf"(?:[Ee]{own}|[a-zA-Z]B?(?=X{own})|[xX]{message}|[a-zA-Z](?=[{frames}]))"
    return re.compile(rf"[a-zA-Z]B\Z|{begins}(?:X{own}|C(?:{message})?|[{frames}])*+".encode())


_PYTHON_END: Final = r"(?:[XW](?:[ID]|W(?=I|\Z))*+(?:[XWO](?:B?[IXWO]){0,3}(?=R|B{0,3}(?:M|\Z)))?Q?(?:SI*+)?)?"
"""Behind the frames: the exception, more lines of its message, notes."""
_NODE_STACK: Final = r"(?:A[AI]*+J?)++"
_NODE_END: Final = r"U?(?:B{1,2}(?=V|\Z))?V?"

LANGUAGES: Final[Mapping[Start, EventRule]] = {
    "java": EventRule(
        (
            (
                "A",
                (
                    r"^\s+at \S|^\s*\.\.\. [0-9]+ (?:more|common|frames?|lines?)|^\s*\[CIRCULAR REFERENCE|^\s+\(Coroutine boundary"
                    r"|^\s+- (?:locked|waiting|parking|eliminated) |^\s+java\.lang\.Thread\.State: "
                ),
            ),
            ("C", r"^\s*(?:Caused by|Suppressed|Wrapped by): "),
            ("E", r"^Exception in thread \""),
            ("X", r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Throwable|Failure|Fault)[\w$]*(?:$|:)"),
            ("I", r"^\s+\S"),
            _RECORD,
        ),
        _framed("AC", "AC"),
    ),
    "dotnet": EventRule(
        (
            ("A", r"^\s+at \S|^\s*--- End of |^\s*<---|^(?:ClientConnectionId|Error Number):"),
            ("C", r"^\s*---> "),
            ("E", r"^Unhandled [Ee]xception[.:] "),
            (
                "X",
                (
                    r"^\s*(?:[A-Za-z_]\w*\.)+\w*(?:Exception|Error|Failure)\w*(?:`[0-9]+(?:\[.*\])?)?"
                    r"(?: \(0x[0-9A-Fa-f]+\)| \([0-9]+\))?(?:$|:)"
                ),
            ),
            ("L", r"^(?:trce|dbug|info|warn|fail|crit): \S"),
            ("I", r"^\s+\S"),
            _RECORD,
        ),
        re.compile(rb"[Ll](?:[IAC]|X|B(?=[IACX]|\Z))++|" + _framed("ACI", "AC").pattern),
    ),
    "python": EventRule(
        (
            ("U", r"^\s*\+ Exception Group Traceback \(most recent call last\):"),
            ("T", r"^\s*Traceback \(most recent call last\):|^(?:Current thread|Thread) 0x[0-9a-f]+ .*\(most recent call first\):"),
            ("S", r"^Stack \(most recent call last\):"),
            ("I", r"^\s+\S"),
            ("M", r"^(?:During handling of the above exception|The above exception was the direct cause)"),
            ("Q", r"^\"\"\"$"),
            ("F", r"^(?:future|task|handle|protocol|transport|source_traceback): "),
            _RECORD,
            ("W", r"^[A-Za-z_][\w.\[\]<>-]*$"),
            ("D", r"^\[(?:SQL|parameters): |^\(Background on this error|^(?:DETAIL|HINT|CONTEXT|QUERY|LINE [0-9]+): "),
            ("X", r"^[A-Za-z_][\w.]*(?:: |:$)"),
        ),
        re.compile(
            (
                rf"[a-zA-Z](?:F{{1,3}}|X?Q|X)\Z"
                rf"|(?:[a-zA-Z](?=[TUS])|[a-zA-Z]F{{1,3}}(?=[TUS]|\Z)|[a-zA-Z](?:X?Q)(?=T|\Z)|(?=[TtUuSs]))(?:[Tt](?:I++{_PYTHON_END})?|[UuSs]I*+)"
                rf"(?:B{{0,3}}MB{{0,3}}(?:X?Q)?(?:T(?:I++{_PYTHON_END})?|UI*+)|B{{0,3}}(?:MB{{0,3}})?(?:XQ?|Q)?\Z)*"
            ).encode()
        ),
    ),
    "go": EventRule(
        (
            ("P", r"^(?:panic|fatal error|runtime error|SIG[A-Z]+): |panic serving \S+: "),
            ("Y", r"^unexpected fault address |^runtime: "),
            ("G", r"^goroutine [0-9]+ .*:$|^runtime stack:$"),
            ("K", r"^\[signal |^exit status [0-9]|^PC=0x|^\.\.\.additional frames|^(?:r[a-z0-9]{1,2}|eflags|rflags|[cfg]s) +0x[0-9a-f]+$"),
            ("I", r"^\s+\S"),
            ("F", r"^(?:created by )?[\w./*()\[\]{}$%~+,·-]+\(.*\)$|^created by \S"),
            ("N", r"^[\w./*()\[\]%~·-]+\.[\w./*()\[\]·-]+$"),
            _RECORD,
        ),
        re.compile(
            rb"[Yy]Y{0,2}\Z|(?:[Yy]Y{0,2}P|[Pp])[OFNI]{0,12}B{0,3}\Z|(?:(?:[Yy]Y{0,2}P|[Pp])(?:[OFNI]{1,12}(?=B{0,2}[GK]))?|[Gg]|[a-zA-Z](?=G))(?:[GKIFN]|B{1,3}+(?=[GK]|\Z))++"
            rb"|[a-zA-Z](?:N(?:I|\Z))++"
        ),
    ),
    "node": EventRule(
        (
            ("A", r"^\s+at \S"),
            ("C", r"^\s*\^+\s*$"),
            ("I", r"^\s+\S"),
            ("J", r"^[}\]]+[,;]?$"),
            ("V", r"^Node\.js v[0-9]"),
            ("U", r"^\(Use `"),
            ("H", r"^(?:file://|node:|evalmachine|\.{0,2}/|[A-Za-z]:\\)[^\s:]*:[0-9]+$"),
            ("X", r"^(?:Uncaught )?(?:\w+ ?\[)?(?:[\w$]+\.)*[\w$]*(?:Error|Exception)\b"),
            _RECORD,
        ),
        re.compile(
            (
                rf"[Hh][A-Z]C(?:B{{0,2}}[XOR](?:[OBIJ]{{1,12}}(?=A|U|V|\Z)|(?=A|U|B{{0,2}}V|B{{0,2}}\Z)))?(?:{_NODE_STACK})?{_NODE_END}"
                rf"|[Hh][A-Z]?(?:CB{{0,2}})?\Z"
                rf"|(?:[a-zA-Z](?=X))?[Xx]{_message('OBIJ', 'A')}(?:{_NODE_STACK})?{_NODE_END}"
                rf"|[a-zA-Z](?:X(?=A|\Z))?{_NODE_STACK}{_NODE_END}"
                rf"|[a-zA-Z](?:X|U)\Z|[a-zA-Z]U"
            ).encode()
        ),
    ),
    "ruby": EventRule(
        (
            ("E", r"^\S+:[0-9]+:in [`'].*': .*\(.*\)$"),
            ("A", r"^\s+(?:[0-9]+: )?from \S|^\s*\S+:[0-9]+:in [`'].*'$"),
            ("C", r"^\s*[\^~]+\s*$"),
            ("I", r"^\s+\S"),
            ("T", r"^Traceback \(most recent call last\):"),
            ("X", r"^(?:[A-Z]\w*::)*[A-Z]\w* \(.*\):?$"),
            _RECORD,
        ),
        re.compile(
            rb"(?:[Tt]A*+)?[Ee](?:B?[OIX]CB?(?=A|\Z)|B?[OIX]?\Z)?(?:A++(?:E(?=A|\Z))?)*+|[Xx][IB]{1,3}(?=A|\Z)A*+|[Tt]A*+|[a-zA-Z]A++(?:E(?:A++|\Z))*+"
            rb"|[a-zA-Z](?:X(?:[IB]{0,3}(?=A|\Z)))A*+"
        ),
    ),
    "php": EventRule(
        (
            ("S", r"^(?:\[[^\]]*\] )?PHP Stack trace:$|^Stack trace:$|^\[stacktrace\]$"),
            ("F", r"^#[0-9]+ |^(?:\[[^\]]*\] )?PHP +[0-9]+\. "),
            ("T", r"^\s+thrown in "),
            ("N", r"^Next \S|^\[previous exception\]"),
            ("Q", r"^\"\}"),
            ("P", r"^(?:\[[^\]]*\] )?(?:PHP )?(?:Fatal error|Uncaught|Exception):? |\"exception\":\"\[object\] "),
            ("I", r"^\s+\S"),
            _RECORD,
        ),
        re.compile(
            rb"(?:[a-zA-Z](?=[SF])|[Pp][OIB]{1,12}(?=S|\Z))(?:SF*+|F++)?(?:B{0,2}N(?:[OIB]{1,12}(?=S|\Z)|(?=S|\Z))(?:SF*+)?|B{1,2}\Z)*+T?Q?"
            rb"|[Pp]\Z"
        ),
    ),
    "rust": EventRule(
        (
            ("Q", r"^thread '.*'.* panicked at .*:$"),
            ("P", r"^thread '.*'.* (?:panicked at |has overflowed its stack)"),
            ("N", r"^(?:note|fatal runtime error): "),
            ("S", r"^(?:[Ss]tack backtrace|Caused by|Location|Backtrace):$"),
            ("I", r"^\s+\S"),
            ("R", _RECORD[1]),
        ),
        re.compile(
            rb"[Qq](?:[OIRNS](?:[OIB]{1,12}(?=[NS]|\Z))?(?:[NI]|B?S|B\Z)*+|\Z)|[Pp](?:[NI]|B?S|B\Z)++|[a-zA-Z](?:B?S(?:I++|\Z)|B\Z)++"
        ),
    ),
}
"""A blank line is part of an event only where a line of the same event follows it."""
