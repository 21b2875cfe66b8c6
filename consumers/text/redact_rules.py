r"""What redaction looks for: the rules, by name and in order. `consumers.text.redact` applies them.

Patterns are RE2 (linear; no look-around). A stand-in takes the place of a match but for its first group. Four habits make redacting twice
the same as redacting once: a stand-in holds no digit (masks leave it alone too) and its angle brackets break the patterns; what holds
other secrets (key blocks, URLs, `password=`) comes first; hardly a pattern looks at what stands to its left; and a value that is a
stand-in already is not a value.
"""

import string
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from consumers.text.redact_numbers import replace_cards, replace_ibans, replace_ipv4, replace_ipv6

RULES_VERSION = 1


class Rule(NamedTuple):
    """What one name stands for.

    Thread: any.
    """

    name: str
    replacement: str
    trigger: str
    """RE2: in every text that holds one, and in few others. Small, for all of them are looked for at once."""
    patterns: Sequence[str] = ()
    """RE2, applied one after the other; the first group is what stays, in front of the stand-in."""
    replace: Callable[[str, str], tuple[str, int]] | None = None
    """Replaces, in one text, what passes a check that no pattern can make; returns the text and the number of replacements."""
    in_all: bool = True
    """False: `all` does not mean it."""


def _other_than(words: Collection[str], one: Callable[[str], str], *, never: str = "", shortest: int = 1, led: str = "") -> str:
    """Return a pattern of how texts begin that are none of `words`, though they may begin like one: RE2 has no look-ahead.

    `one(excluded)` is the pattern of a character that is none of `excluded`; `never` holds more that cannot come first. The beginning of
    a word is found where it ends, if it is letters and at least `shortest` of them.
    """
    initials = "".join(sorted({word[0] for word in words if word}))
    ways = [one(initials + never) + one("") * (shortest - len(led) - 1)]
    for initial in initials:
        endings = [word[1:] for word in words if word[:1] == initial]
        ways.append(initial + _other_than(endings, one, shortest=shortest, led=led + initial))
    if len(led) >= shortest and "" not in words:
        ways.append(r"\b")
    return f"(?:{'|'.join(ways)})"


_BLOCK = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PRIVATE_KEY = rf"(?s)()-----BEGIN {_BLOCK}.*?(?:-----END {_BLOCK}|\z)"
"""A block that was cut off goes to the end of the text."""

_LOGIN = r"""(://)[^\s/?#"'<>]+@"""

_STRONG = r"(?:passw(?:or)?d|passphrase|(?-i:[Pp]wd|_PWD))"
"""Says that a secret follows, whatever it looks like."""
_WEAK = r"(?:secret|token|(?:api|access|secret|private|auth)[_-]?key)"
"""Is also prose: `unexpected token: name`."""
_NAME = rf"(?:{_STRONG}|{_WEAK})"
_CLOSE = r"""\\*["']?"""
"""Of a quoted name: `"password": …`."""
_EQUALS = r"(?:[ \t]+:?=+>?[ \t]*|:?=+>?|%3d)"
"""`password= user=x` has an empty value, `password = x` has not."""
_COLON = r"[ \t]*:[ \t]*"
_BEFORE_QUOTE = r"[ \t]*(?::|:?=+>?)[ \t]*"
_ENDS, _CLOSERS = r"\s&,;\"", r")\]}'`\\"
_OPAQUE, _DOTTED = "[A-Za-z0-9_+/=-]", "[A-Za-z0-9_+/=.~-]"
_NOT_VALUES = ("null", "none", "nil", "true", "false")
_TYPES = ("str", "string", "secretstr", "bytes")
"""`password: SecretStr` declares one."""
_PROSE = (
    *("or", "and", "is", "are", "was", "as", "to", "for", "in", "on", "via", "with", "from", "not", "given", "requires", "flag", "option"),
    *("must", "should", "may", "can", "cannot", "will", "has", "have", "if", "when", "instead"),
)
"""`give --password or --token` says how to."""
_OPTION = "--(?:(?:[a-mo-z0-9]|n[a-np-z])[a-z0-9_-]*)?"
"""Of a command line, up to its name; its value may stand behind a space. `--no-password` has none."""
_BEFORE_ARGUMENT = r"""(?:\\*["'],[ \t]*|[ \t]+)"""
"""`["--token", "x"]` or `--token "x"`."""
_ELEMENT = rf"[a-z0-9_.:-]*{_NAME}"


def _unlike_stand_in(one: Callable[[str], str], plain: str = "") -> str:
    """Return a pattern of how a value begins that is not, as a whole, `<` letters or dashes `>`: that stands for a secret already."""
    return f"(?:{plain or one('<')}|<(?:{one('a-z-')}|[a-z-]+(?:{one('a-z>-')}|>{one('')})))"


def _quoted(opening: str, end: str, escaped: str) -> str:
    """Return the pattern of a value from its quote on."""

    def one(excluded: str) -> str:
        return rf"(?:[^{end}\\{excluded}]|\\{escaped})"

    return rf"(?is)((?:{_NAME}{_CLOSE}{_BEFORE_QUOTE}|{_OPTION}{_NAME}{_BEFORE_ARGUMENT}){opening}){_unlike_stand_in(one)}{one('')}*"


def _bare(name: str, separator: str, never: str, words: Collection[str] = _NOT_VALUES) -> str:
    """Return the pattern of a value without quotes: up to white space, `"`, `&`, `,` or `;`, less the brackets and quotes at its end.

    What is one of `words`, or begins with a character of `never`, is no value.
    """

    def any_one(excluded: str) -> str:
        return f"[^{_ENDS}{excluded}]"

    def last_one(excluded: str) -> str:
        return f"[^{_ENDS}{_CLOSERS}{excluded}]"

    first, only = (_unlike_stand_in(one, _other_than(words, one, never=never + "<")) for one in (any_one, last_one))
    return rf"(?i)({name}{_CLOSE}{separator})(?:{first}{any_one('')}*{last_one('')}|{only})"


_PASSWORD = (
    _quoted('"', '"', "."),
    _quoted(r'\\+"', '"', r'[^"\\]'),
    _quoted("'", "'", "."),
    _bare(_NAME, _EQUALS, "'=>"),
    _bare("(?-i:PWD)", _EQUALS, "'=>/", ()),  # a shell's PWD=/home/… is a folder
    _bare(_STRONG, _COLON, "'=[{", (*_NOT_VALUES, *_TYPES)),
    _bare(_OPTION + _STRONG, r"[ \t]+", r"'=:/[{(|\-", _PROSE),
    rf"(?i)({_WEAK}{_CLOSE}{_COLON})(?:{_OPAQUE}{{4,}}[0-9]|{_OPAQUE}*[0-9]{_OPAQUE}{{4}}){_DOTTED}*",
    rf"(?i)({_OPTION}{_WEAK}[ \t]+)[a-z0-9](?:{_DOTTED}{{3,}}[0-9]|{_DOTTED}*[0-9]{_DOTTED}{{4}}){_DOTTED}*",
    rf"(?i)()<{_ELEMENT}(?:\s[^<>]*)?>{_DOTTED}[^<>]*</{_ELEMENT}>",
)
"""`<password>` is an element's tag and a stand-in. So elements come last, go whole, and begin as nothing does that follows a value."""
_WORD = r"(?:passw(?:or)?d|passphrase|pwd|secret|token|key)"
_PASSWORD_TRIGGER = rf"(?i:{_WORD}{_CLOSE}[ \t]*(?:[:=]|%3d)|--[a-z0-9_-]*{_WORD}{_CLOSE}[ \t,]|</[a-z0-9_.:-]*{_WORD}>)"

_URL_SAFE = "[A-Za-z0-9._~+/-]"
_HEADER = rf"authorization{_CLOSE}[ \t]*(?::|=+>?)[ \t]*\[?\\*[\"']?"
_PARAMETER = r"""[a-z-]+=(?:\\*"[^"]*"?|[^\s"',<>]*[^\s"',;<>)\]}\\])"""
_BEARER = (
    rf"(?i)({_HEADER}(?:bearer|basic|token|apikey|negotiate|ntlm)[ \t]+)[^\s\"',;<>()\[\]{{}}\\]+",
    rf"(?i)({_HEADER}(?:digest|hawk|aws4-hmac-sha256)[ \t]+){_PARAMETER}(?:[ \t]*,[ \t]*{_PARAMETER})*",
    rf"(?i)(bearer[ \t]+)(?:{_URL_SAFE}{{8,}}[0-9]|{_URL_SAFE}*[0-9]{_URL_SAFE}{{8}}){_URL_SAFE}*=*",
)
"""After a header's name anything is a token; elsewhere it must look like one (`bearer 5` is also telephony)."""

_JWT = r"()eyJ[A-Za-z0-9_-]{8,}(?:\.{1,2}[A-Za-z0-9_-]+){1,4}"

_PREFIXES = "(?:gh[oprsu]_|github_pat_|glpat-|xox[a-z]-|xapp-|AIza|ya29\\.|GOCSPX-|[rs]k_(?:live|test)_|whsec_|npm_|hf_)"
_CLOUD_KEY = (
    r"((?:secret_?access_?key|SECRET_?ACCESS_?KEY|[sS]ecretAccessKey)\\*[\"']?[ \t]*(?:[:=]|=>)[ \t]*\\*[\"']?)[A-Za-z0-9/+]{40}",
    r"((?:AccountKey|SharedAccessKey)=)[A-Za-z0-9+/]{20,}=*",
    r"(hooks\.slack\.com/(?:services|workflows)/)[A-Za-z0-9/]{20,}",
    r"()A(?:KI|SI)A[A-Z0-9]{16,}",
    rf"(){_PREFIXES}[A-Za-z0-9_-]{{16,}}",
    r"()\bsk-[A-Za-z0-9_-]{20,}",
    r"()SG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{40,}",
)
_CLOUD_TRIGGER = (
    r"secret_?access_?key|SECRET_?ACCESS_?KEY|ecretAccessKey|(?:Account|Access)Key=|hooks\.slack|A(?:KI|SI)A[A-Z0-9]{4}"
    rf"|{_PREFIXES}|sk-[A-Za-z0-9]|SG\."
)
"""AWS, Azure, Slack, AWS, then GitHub, GitLab, Slack, Google, Stripe, npm and Hugging Face, then OpenAI and Anthropic, then SendGrid."""

_FILES_AND_UNITS = (  # noqa: SIM905 - a list of words
    "service socket slice target timer mount automount device scope swap path png jpg jpeg gif svg webp"
).split()


def _letter(excluded: str) -> str:
    return f"[{''.join(sorted(set(string.ascii_lowercase) - set(excluded)))}]"


_ALPHABET = r"0-9A-Za-z_\x{C0}-\x{52F}"  # Latin, Greek, Cyrillic; Chinese stands around an address without a space
_DOMAIN = rf"(?:@|%40)(?:[{_ALPHABET}-]+\.)+"
_EMAIL = (
    rf"(?i)()[{_ALPHABET}][{_ALPHABET}.%+-]*{_DOMAIN}"
    rf"(?:xn--[a-z0-9-]+|{_other_than(_FILES_AND_UNITS, _letter, shortest=2)}[a-z]*)"
)
"""`getty@tty1.service` is a unit and `logo@2x.png` a picture."""

RULES: tuple[Rule, ...] = (
    Rule("private-key", "<private-key>", "-----BEGIN ", (_PRIVATE_KEY,)),
    Rule("url-login", "<login>@", _LOGIN, (_LOGIN,)),
    Rule("password", "<password>", _PASSWORD_TRIGGER, _PASSWORD),
    Rule("bearer", "<bearer>", r"(?i:bearer[ \t]|authorization[^ \t]{0,4}[ \t]*[:=])", _BEARER),
    Rule("jwt", "<jwt>", "eyJ[A-Za-z0-9_-]{8}", (_JWT,)),
    Rule("cloud-key", "<cloud-key>", _CLOUD_TRIGGER, _CLOUD_KEY),
    Rule("email", "<email>", _DOMAIN, (_EMAIL,)),
    Rule("iban", "<iban>", r"(?:\b|_)[A-Z]{2}[0-9]{2} ?[0-9A-Z]{4} ?[0-9A-Z]{4}", replace=replace_ibans),
    Rule("ipv6", "<ip>", r"[0-9A-Fa-f]:[0-9A-Fa-f:]*:|::[0-9A-Fa-f]", replace=replace_ipv6, in_all=False),
    Rule("ipv4", "<ip>", r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]", replace=replace_ipv4, in_all=False),
    Rule("card", "<card>", r"(?:\b|(?i:card|pan|cc)_)[2-6](?:[0-9]{12,18}\b|[0-9]{3}[ -][0-9]{4})", replace=replace_cards),
)
"""In this order. `all` does not mean the addresses: they are what people search for, and masks take them out of what is embedded."""
