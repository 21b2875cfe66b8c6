r"""The redaction rules, in order. `consumers.text.redact` applies them.

Patterns are RE2 (linear; no look-around). The replacement takes the place of a match except for its first group. Four properties make
redacting twice the same as redacting once: a replacement has no digit (so masks leave it alone) and its angle brackets break the patterns;
rules for what may contain other secrets (key blocks, URLs, `password=`) come first; hardly any pattern depends on what precedes it; and a
replacement is never matched as a value.
"""

import string
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from consumers.text.redact_numbers import replace_cards, replace_ibans, replace_ipv4, replace_ipv6


class Rule(NamedTuple):
    """What a rule's name stands for."""

    name: str
    replacement: str
    trigger: str
    """RE2; matches in every text that contains such a secret, and in few others. Small, because all triggers are searched at once."""
    patterns: Sequence[str] = ()
    """RE2, applied one after the other; the first group stays, before the replacement."""
    replace: Callable[[str, str], tuple[str, int]] | None = None
    """Replaces in one text what passes a check that no pattern can make; returns the text and the number of replacements."""
    in_all: bool = True
    """False: not part of `all`."""


def _other_than(words: Collection[str], one: Callable[[str], str], *, never: str = "", shortest: int = 1, led: str = "") -> str:
    """Return a pattern for the beginning of texts that are none of `words`, but may start like one: RE2 has no look-ahead.

    `one(excluded)` is the pattern of a character that is none of `excluded`; `never` holds further characters that cannot come first.
    A proper beginning of a word matches where it ends, if it has at least `shortest` letters; `led` is what has been matched so far.
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
"""A truncated block extends to the end of the text."""

_LOGIN = r"""(://)[^\s/?#"'<>]+@"""

_STRONG = r"(?:passw(?:or)?d|passphrase|(?-i:[Pp]wd|_PWD))"
"""A secret follows, whatever it looks like."""
_WEAK = r"(?:secret|token|(?:api|access|secret|private|auth)[_-]?key)"
"""Also occurs in prose: `unexpected token: name`."""
_NAME = rf"(?:{_STRONG}|{_WEAK})"
_CLOSE = r"""\\*["']?"""
"""The closing quote of a name: `"password": …`."""
_EQUALS = r"(?:[ \t]+:?=+>?[ \t]*|:?=+>?|%3d)"
"""`password= user=x` has an empty value, `password = x` does not."""
_COLON = r"[ \t]*:[ \t]*"
_BEFORE_QUOTE = r"[ \t]*(?::|:?=+>?)[ \t]*"
_ENDS, _CLOSERS = r"\s&,;\"", r")\]}'`\\"
_OPAQUE, _DOTTED = "[A-Za-z0-9_+/=-]", "[A-Za-z0-9_+/=.~-]"
_NOT_VALUES = ("null", "none", "nil", "true", "false")
_TYPES = ("str", "string", "secretstr", "bytes")
"""`password: SecretStr` is a declaration."""
_PROSE = (
    *("or", "and", "is", "are", "was", "as", "to", "for", "in", "on", "via", "with", "from", "not", "given", "requires", "flag", "option"),
    *("must", "should", "may", "can", "cannot", "will", "has", "have", "if", "when", "instead"),
)
"""`give --password or --token` is an instruction."""
_OPTION = "--(?:(?:[a-mo-z0-9]|n[a-np-z])[a-z0-9_-]*)?"
"""A command-line option up to its name; its value may follow a space. `--no-password` has no value."""
_BEFORE_ARGUMENT = r"""(?:\\*["'],[ \t]*|[ \t]+)"""
"""`["--token", "x"]` or `--token "x"`."""
_ELEMENT = rf"[a-z0-9_.:-]*{_NAME}"


def _unlike_replacement(one: Callable[[str], str], plain: str = "") -> str:
    """Return a pattern for the beginning of a value that is not a replacement: `<` letters or dashes `>`."""
    return f"(?:{plain or one('<')}|<(?:{one('a-z-')}|[a-z-]+(?:{one('a-z>-')}|>{one('')})))"


def _quoted(opening: str, end: str, escaped: str) -> str:
    """Return the pattern of a quoted value, from its quote."""

    def one(excluded: str) -> str:
        return rf"(?:[^{end}\\{excluded}]|\\{escaped})"

    return rf"(?is)((?:{_NAME}{_CLOSE}{_BEFORE_QUOTE}|{_OPTION}{_NAME}{_BEFORE_ARGUMENT}){opening}){_unlike_replacement(one)}{one('')}*"


def _bare(name: str, separator: str, never: str, words: Collection[str] = _NOT_VALUES) -> str:
    """Return the pattern of an unquoted value: up to white space, `"`, `&`, `,` or `;`, without brackets and quotes at its end.

    A text that is one of `words`, or begins with a character of `never`, is not a value.
    """

    def any_one(excluded: str) -> str:
        return f"[^{_ENDS}{excluded}]"

    def last_one(excluded: str) -> str:
        return f"[^{_ENDS}{_CLOSERS}{excluded}]"

    first, only = (_unlike_replacement(one, _other_than(words, one, never=never + "<")) for one in (any_one, last_one))
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
    rf"(?i)()<{_ELEMENT}(?:\s[^<>]*)?>(?:{_DOTTED}[^<>]*</{_ELEMENT}>)+",
)
"""`<password>` is an element's tag and a replacement. So elements come last, and are replaced up to their last closing tag."""
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
"""After a header's name anything is a token; elsewhere it must look like one (`bearer 5` also occurs in telephony)."""

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


_ALPHABET = r"0-9A-Za-z_\x{C0}-\x{52F}"  # Latin, Greek, Cyrillic; Chinese text may surround an address without a space
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
"""In the order of application. `all` excludes addresses: people search for them, and masks remove them from what is embedded."""
