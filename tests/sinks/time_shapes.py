"""What times and dates look like in logs, each digit written as `0`: they stand in most lines and name none, so they are no words."""

import re
from itertools import product

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905
_DATES = (
    *("0000-00-00", "0000.00.00", "0000/00/00", "0000_00_00", "00-00-0000", "00.00.0000", "00/00/0000", "00-00-00", "00.00.00", "00/00/00"),
    *("0/0/0000", "0/00/0000", "00/0/0000", "0.0.0000", "0.00.0000", "00.0.0000"),
    *(f"00{mark}{month}{mark}{year}" for mark, month, year in product("-/.", _MONTHS, ("0000", "00"))),
)
_CLOCKS = ("00:00", "0:00", "00:00:00", "0:00:00", "00.00.00", "00-00-00")
_FRACTIONS = ("", ".0", ".00", *("." + "0" * digits for digits in (3, 4, 5, 6, 7, 9)), ":000")
_ZONES = ("", "z", "-00:00", "-0000")
"""A `+` separates."""
_ADDRESS = re.compile(r"0{1,3}(\.0{1,3}){3}")
"""What an IPv4 address looks like: `00.00.00.000` could be a time, but seldom is."""


def time_shapes() -> frozenset[str]:
    """Return the shapes of times and dates as tokens of a log, in small letters."""
    times = [clock + fraction + zone for clock, fraction, zone in product(_CLOCKS, _FRACTIONS, _ZONES)]
    shapes = [*_DATES, *times, *(date + mark + time for date, mark, time in product(_DATES, "t-_:.@/", times))]
    return frozenset(shape for shape in shapes if not _ADDRESS.fullmatch(shape))
