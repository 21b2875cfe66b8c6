r"""The masks of words: patterns of what varies in texts whose numbers, times and ids are masked (`consumers/text/mask_patterns.py`).

They see each distinct text once, so they may take time; they must be linear all the same. RE2 syntax over bytes of UTF-8: no pattern may
match a part of a character but inside of `[^…]*`. Each keeps what its groups match, and nothing else of a match.
"""

from consumers.text.key_classes import VARYING_KEYS
from consumers.text.mask_patterns import VARIABLE_MASKS, Mask

_METHODS = "GET|POST|PUT|DELETE|HEAD|PATCH|OPTIONS|PROPFIND"
_WORD_SEGMENT = "/[A-Za-z][A-Za-z_-]{1,31}"
_OTHER_SEGMENTS = r"""(?:/[^/\s"'?<>]?)*"""
_ROUTE = rf"""{_OTHER_SEGMENTS}((?:{_WORD_SEGMENT})?){_OTHER_SEGMENTS}((?:{_WORD_SEGMENT})?)(?:[/?.;#&%@,*~+=!$:][^\s"'<>]*)?"""
_REST = r"""[^\s"'<>()\[\]{},;]*"""
_GENERIC = "com|net|org|edu|gov|mil|info|biz|local|localdomain|lan|internal|intra|corp|arpa|svc"
# country codes, without those that are endings of files or parts of names: .py .rs .sh .pl .cc .md .so .do .id .is .in .it .no .to .me .my
_COUNTRY = (
    "a[cdefgilmoqrtuwz]|b[abdefghijmnorswyz]|c[adfghiklmnoruvwxyz]|d[ejkmoz]|e[ceghstu]|f[ijkmor]|g[abdefghilmnpqrstuwy]|h[kmnrtu]|i[elmnqr]"
    "|j[emop]|k[eghimnprwyz]|l[abcikrtuvy]|m[acghklnopqrtuvwxz]|n[acefgilpruz]|om|p[aefghkmnrtw]|qa|r[eouw]|s[abcegiklnrtuvxyz]"
    "|t[cdfghjklmnrtvwz]|u[agksyz]|v[aceginu]|w[fs]|y[et]|z[amw]"
)
_HOST = rf"(?:[\w-]*\.)+(?:{_GENERIC})(?:\.(?:{_COUNTRY}))?|(?:[\w-]*\.){{2,}}(?:{_COUNTRY})"
_AFTER_USER = "(?i:from|port|by|failed|not|does|is|on|at|via|with)"
_CREDENTIALS = (
    r"password|passwd|publickey|key|login|access|authentication|session|certificate|credentials|none|hostbased|\w*interactive\S*|gssapi\S*"
)
_NAMED = (
    "user|username|account|host|hostname|file|filename|path|directory|folder|database|table|relation|column|index|role|topic|queue|bucket|container"
    "|image|pod|node|volume|device|interface|package|domain|address|url|uri|session|program|key|id"
)
_NAMED_TOO = (
    "vhost|constraint|zone|upstream|agent|task|job|service|branch|group|server|cluster|namespace|tenant|plugin|module|project|client|member"
)
_ENDINGS = (
    "csv|tsv|conf|cfg|ini|json|ya?ml|xml|toml|txt|tmp|temp|pid|sock|sqlite|bak|old|dat|bin|img|iso|tar|t?gz|bz2|xz|zst|zip|rpm|deb|jar"
    "|war|dll|exe|msi|pdf|docx?|xlsx?|png|jpe?g|gif|svg|mp|html?|css|crt|pem|sql|parquet|avro"
)
_ENDINGS_OR_PARTS = "lock|db|cache|key|sys|dump"
"""Of packages and objects too: com.acme.cache, django.db.utils."""
_NO_CONSOLE = r"(?:[\w+~-]*(?:[^\We]|[+~-])|(?:[\w+~-]*(?:[^\Wl]|[+~-]))?e|(?:[\w+~-]*(?:[^\Wo]|[+~-]))?le)"
"""The name of a log; that of an object, console.log, ends in `ole`."""
_SLASHED = r"""[^\s"'<>|;,:\\]+"""
_SAYS_HOW_BAD = "EMERG|ALERT|CRIT(?:ICAL)?|ERR|ERRORS?|WARN|WARNING|NOTICE|INFO|DEBUG|TRACE|FATAL|SEVERE|PANIC|FAIL(?:ED|URE)?|EXCEPTION|OK"
_SYSTEM_FOLDERS = "bin|boot|dev|etc|lib|proc|run|sbin|srv|sys|usr|var|Applications|Library|System"
_PART = r"""(?:[^\s/:;,'"()\[\]{}<>|]|\[\])"""
_LEFT_OF_NUMBER = r"(?:[\w./-]*[._-])?"
_BETWEEN = ",;:.=|/-"

WORD_MASKS = (
    # a request line and the address of a web page keep two words of the path: GET /v2/54fa/servers/detail?limit=3 · https://a.example/help
    Mask("request", rf"""\b((?:{_METHODS}) +"?)(?:https?://[^/\s"]*)?{_ROUTE}([\s"])""", r"\1\2\3\4"),
    Mask("url", rf"""\b(?:(https?:)//[^/\s"'<>]*{_ROUTE}([\s"'<>\])}},;]|$)|([a-z][a-z\d+.]*:)//{_REST})""", r"\1\2\3\4\5"),
    # connect to db.prod.example.org: · from .dsl.example.com.br; not java.net.Socket or main.py
    Mask("hostname", rf"(^|[^\w./@$-])(?:{_HOST})(:?\.?(?:[^\w./@-]|$))", r"\1host\2"),
    # Invalid user bob from · Accepted password for bob from · by bob(uid=0)
    Mask("user", rf"\b((?i:invalid|illegal|authenticating) user )(?:[^\s:=]+ )??({_AFTER_USER}\b|\[)", r"\1\2"),
    Mask(
        "login",
        rf"\b(?:((?i:{_CREDENTIALS}) for (?:(?i:invalid|illegal) user )?)[^\s:=]+( from )|(by )[^\s:=,;()]+(\(uid=))",
        r"\1\2\3\4",
    ),
    # session opened for user bob by · New session of user bob: it becomes "for a user", which is not masked again
    Mask("session", r"\b((?:for|of) )(user )[^\s:=,;()]+", r"\1a \2"),
    # account of bob locked · no account named bob
    Mask("account", r"\b([Aa]ccount (?:of|for|named) )[^\s:=,;()]+", r"\1someone"),
    # rhost=gw.example user=bob path="/a b"; not status=failed (`consumers/text/key_classes.py`)
    Mask("value", rf"""({VARYING_KEYS}=)(?:"[^"\n]*"|'[^'\n]*'|[^\s,;&()\[\]{{}}"'|]+)""", r"\1"),
    # relation "orders" · file 'a b.txt' · level set to "x"; not what else stands in quotes
    Mask("quoted", rf"""\b((?:(?i:{_NAMED})(?: (?i:name|to|is|of|named|called))?:?|(?:set|changed) to) )(?:"[^"\n]*"|'[^'\n]*')""", r"\1"),
    Mask("named", rf"""\b((?i:{_NAMED_TOO}):? )(?:"[^"\n]*"|'[^'\n]*')""", r"\1"),
    # a path of three segments and more, ./relative or ~/of/somebody, and a list of them between colons
    # of a system's own folders two segments stay: /var/www of /var/www/html/a
    Mask(
        "path",
        rf"""(^|[\s(\[{{"'=:,<>|@-])(?:(?:\.{{0,2}}|~)(?:(/(?:{_SYSTEM_FOLDERS})/[A-Za-z][A-Za-z_-]*)(?::?/{_PART}*)+|(?::?/{_PART}*){{3,}})"""
        rf"""|(?:\.{{1,2}}|~)/{_PART}+)""",
        r"\1\2/file",
    ),
    # the name of a file that a time begins: [2017-07-04_10.02.54]-report.xml, of which []-report.xml is left
    Mask("stamped", r"(\[\][-_])[A-Za-z][\w.-]*\.[A-Za-z]{2,6}\b", r"\1file"),
    # C:\Program Files\App\a.dll · HKLM\SOFTWARE\App · CORP\ada; not App\Database\QueryException, nor ERROR\nConnection, which is escaped
    Mask(
        "slashed",
        rf"""\b(?:[A-Za-z]:\\(?:{_SLASHED}(?: {_SLASHED}){{0,3}}\\)+(?:{_SLASHED})?|HK[A-Z_]+(?:\\{{1,2}}[\w.${{}}-]*)+"""
        rf"""|([A-Za-z][\w.-]*(?:\\{{1,2}}[\w.$-]+){{2,}}|(?:{_SAYS_HOW_BAD})\\)"""
        r"""|[A-Z][A-Z-]+\\{1,2}(?:[A-Za-mo-qsu-z]|[nrt][a-z\d_.$-])[\w.$-]*)""",
        r"\1",
    ),
    Mask("drive", r"""\b[A-Za-z]:\\[^\s"'<>|;,]*""", ""),
    # from=<ada>; not state=<up>
    Mask("angle", rf"((?:{VARYING_KEYS}|\b(?i:from|to|by))=<)[\w.$+-]+(>)", r"\1\2"),
    # the name of a file by what it ends with; not that of a source file, which says where a program is
    Mask(
        "file",
        rf"(^|[^\w.\\-])(?:[\w+~-][\w.+~-]*\.(?:{_ENDINGS})([.~-]*(?:[^\w.~-]|$))"
        rf"|(?:[\w+~-]+\.+(?:{_ENDINGS_OR_PARTS})|{_NO_CONSOLE}\.+log)([.~-]*(?:[^\w.:~-]|$)))",
        r"\1file\2\3",
    ),
    # a value that was hidden: password=****
    Mask("hidden", r"\*{3,}", ""),
    # parentheses by themselves, with nothing left in them: ( KB) of 18846 bytes (18.4 KB)
    Mask("brackets", rf"(^|[ \n])\([ {_BETWEEN}]*\)([ \n,.;:])", r"\1\2"),
    # brackets with what is left of a list, and a host by itself: [orders-, clicks-] · from 10.0.0.1 (gw.example.org)
    Mask(
        "items",
        rf"(\[)(?:[ {_BETWEEN}]*[,;:.|/=-][ {_BETWEEN}]*|{_LEFT_OF_NUMBER}(?:, ?{_LEFT_OF_NUMBER})+)(\])|(^|[ \n])\(host\)",
        r"\1\2\3",
    ),
    # single names: token refreshed for ada · container cart of pod · started on athena (`consumers/text/name_words.py`)
    Mask("name", "", ""),
    # what is left of a list: one word again and again, and the sign of a comparison without its number (`consumers/text/tidy.py`)
    Mask("list", "", ""),
)
"""In the order of application."""

WORD_NEEDS = {
    "url": "://",
    "user": " user ",
    "account": "ccount ",
    "session": " user ",
    "value": "=",
    "path": "/",
    "stamped": "[]",
    "drive": ":\\",
    "slashed": "\\",
    "file": ".",
    "angle": "=<",
    "hidden": "***",
    "brackets": "(",
}
"""What every match of a mask contains."""

MASKS = (Mask("field", "", ""), *VARIABLE_MASKS, *WORD_MASKS)
"""All built-in masks; `field` needs what a text does not hold (`consumers/text/field_values.py`)."""

MASKS_VERSION = 5
