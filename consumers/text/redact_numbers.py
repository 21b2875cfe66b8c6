"""Redacts numbers that can be verified: card numbers, IBANs and addresses are replaced only if they pass their check.

`consumers.text.redact` calls this for texts in which a native pattern found a candidate. Every function takes a text and the replacement,
and returns the new text and the number of replacements. The check of one candidate is bounded, so time is linear in the text.
"""

import re
import string
from collections.abc import Callable, Iterator
from ipaddress import AddressValueError, IPv6Address

_CARD_NAMED = "|".join(rf"(?<=(?<![A-Za-z]){name}[_-])" for name in ("card", "pan", "cc"))
_CARD_START = re.compile(rf"(?i:(?<![0-9A-Za-z_.-])(?<!::)|{_CARD_NAMED})(?=[2-6][0-9]{{3}})")
_CARD_END = r"(?![0-9A-Za-z_]|-[0-9A-Za-z]|\.[0-9]|::)"
_CARD_PLAIN = (re.compile(r"[0-9]{13,19}" + _CARD_END),)
_CARD_GROUPED = tuple(
    re.compile(form + _CARD_END)
    for form in (
        r"[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}\1[0-9]{1,3}",
        r"[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{1,4}",
        r"[0-9]{4}([ -])[0-9]{6}\1[0-9]{4,5}",
    )
)
"""As printed on cards. Part of a name, a decimal, an address or a UUID is not a card, but `card_4…` is."""
_SEPARATORS = frozenset(" -")
_CARD_ISSUED = re.compile(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})"  # Visa
    r"|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"  # Mastercard
    r"|3[47][0-9]{13}"  # American Express
    r"|3(?:0[0-5][0-9]|095|[689][0-9]{2})[0-9]{10}(?:[0-9]{2})?"  # Diners Club
    r"|(?:6011|64[4-9][0-9]|65[0-9]{2}|62[0-9]{2}|352[89]|35[3-8][0-9]|220[0-4]|506[01])[0-9]{12,15}"  # Discover, UnionPay, JCB, Mir, Verve
    r"|(?:5018|5019|5020|5038|5893|6304|6759|676[1-3])[0-9]{9,15}"  # Maestro, Dankort
    r"|60[0-9]{14}"  # RuPay
)
"""First digits and lengths that are issued. Luhn's check alone accepts one number in ten, and logs are full of long numbers."""
_PLAIN = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))
"""The value of a digit, and the digit sum of twice its value."""

_IBAN_START = re.compile(r"(?<![0-9A-Za-z])[A-Z]{2}[0-9]{2}(?= ?[0-9A-Z]{4})")
_IBAN_LENGTHS = {
    one[:2]: int(one[2:])
    for one in (  # noqa: SIM905 - a list of words
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 "
        "FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 "
        "MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 "
        "SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
    ).split()
}
"""Characters by country (SWIFT's IBAN registry)."""

_BASE_36 = {ord(letter): str(int(letter, 36)) for letter in string.ascii_uppercase}
_ALNUM = re.compile("[0-9A-Za-z]")

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_IPV4 = re.compile(rf"(?<![0-9A-Za-z.])(?<!::)(?:{_OCTET}\.){{3}}{_OCTET}(?![0-9A-Za-z_]|\.[0-9]|::)")
_IPV6 = re.compile(
    r"(?<![0-9A-Za-z_:.])(?=[0-9A-Fa-f]{0,4}:)"
    rf"(?:[0-9A-Fa-f:]{{1,29}}:(?:{_OCTET}\.){{3}}{_OCTET}|[0-9A-Fa-f:]{{1,38}}[0-9A-Fa-f]|[0-9A-Fa-f:]{{0,37}}::)"
    r"(?![0-9A-Za-z_]|:[0-9A-Fa-f:<]|\.[0-9])"
)
_OCTET_PAIRS = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){7}")  # a WWN or a GUID, not an address


def replace_cards(text: str, replacement: str) -> tuple[str, int]:
    """Replace card numbers of 13 to 19 digits that have issued first digits and length and pass Luhn's check (ISO/IEC 7812-1)."""
    return _replace(text, _cards(text), replacement)


def replace_ibans(text: str, replacement: str) -> tuple[str, int]:
    """Replace IBANs, in one piece or in groups of four, of the country's length and with remainder 1 modulo 97 (ISO 13616)."""
    return _replace(text, _ibans(text), replacement)


def replace_ipv4(text: str, replacement: str) -> tuple[str, int]:
    """Replace IPv4 addresses, without their port."""
    return _IPV4.subn(_constant(replacement), text)


def replace_ipv6(text: str, replacement: str) -> tuple[str, int]:
    """Replace IPv6 addresses that contain a digit (`a::b` is also C++), without their port and zone."""
    spans = (found.span() for found in _IPV6.finditer(text) if _is_ipv6(found[0]))
    return _replace(text, spans, replacement)


def _replace(text: str, spans: Iterator[tuple[int, int]], replacement: str) -> tuple[str, int]:
    parts: list[str] = []
    end = 0
    for start, next_end in spans:
        parts += (text[end:start], replacement)
        end = next_end
    return "".join((*parts, text[end:])), len(parts) // 2


def _constant(replacement: str) -> Callable[[re.Match[str]], str]:
    return lambda _: replacement


def _cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the first card at each place where a number starts; they do not overlap."""
    end = 0
    for place in _CARD_START.finditer(text):
        start = place.start()
        if start < end:
            continue
        for form in _CARD_GROUPED if text[start + 4 : start + 5] in _SEPARATORS else _CARD_PLAIN:
            found = form.match(text, start)
            if found and _is_card(found[0].replace(" ", "").replace("-", "")):
                end = found.end()
                yield start, end
                break


def _is_card(digits: str) -> bool:
    if not _CARD_ISSUED.fullmatch(digits):
        return False
    backwards = digits.encode("ascii")[::-1]
    return (sum(backwards[::2].translate(_PLAIN)) + sum(backwards[1::2].translate(_DOUBLED))) % 10 == 0


def _ibans(text: str) -> Iterator[tuple[int, int]]:
    end = 0
    for place in _IBAN_START.finditer(text):
        start = place.start()
        length = _IBAN_LENGTHS.get(place[0][:2], 0)
        if start < end or not length:
            continue
        size = length + (length - 1) // 4 if text[start + 4] == " " else length
        if _is_iban(text[start : start + size], length) and not _ALNUM.match(text, start + size):
            end = start + size
            yield start, end


def _is_iban(written: str, length: int) -> bool:
    letters = written.replace(" ", "")
    if len(letters) != length or (len(written) > length and written[4::5].strip(" ")):
        return False
    if not (letters.isascii() and letters.isalnum() and letters == letters.upper()):
        return False
    return int((letters[4:] + letters[:4]).translate(_BASE_36)) % 97 == 1


def _is_ipv6(written: str) -> bool:
    if _OCTET_PAIRS.fullmatch(written) or not any(letter.isdigit() for letter in written):
        return False
    try:
        IPv6Address(written)
    except AddressValueError:
        return False
    return True
