"""Heads of lines in the usual layouts, with any names, times and levels: level, service, logger and host are found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.decode.decoder import Decoder
from consumers.decode.levels import level_of_name
from consumers.decode.rules import DecodeRules
from tests.consumers.decode.seen import seen

KAFKA_MS = 1_795_435_200_000
WORDS = st.text("abcdefghijklmnoprstuvwxyz", min_size=3, max_size=8).filter(lambda word: not word.endswith("ed"))
SERVICES = st.lists(WORDS, min_size=2, max_size=3).map("-".join).filter(lambda name: not level_of_name(name))
LOGGERS = st.lists(WORDS, min_size=2, max_size=3).map(lambda words: f"{'.'.join(words)}.Cart")
LEVELS = st.sampled_from(["DEBUG", "INFO", "WARN", "ERROR", "FATAL"])
CLOCKS = st.times().map(lambda time: f"2026-11-23 {time:%H:%M:%S}")
TEXTS = st.sampled_from(["cart emptied", "no error: all is fine", "GET /cart 503", "x"])

LAYOUTS = {
    "{clock} {level} {service}: {text}": ("{level}", "{service}", "", ""),
    "[{clock}] {service}.{level}: {text}": ("{level}", "", "", ""),
    "{clock},{service},{level},{text}": ("{level}", "", "", ""),
    '{clock} UTC,"{service}","a, b",12,"x {logger}",0,{level},"{text}"': ("{level}", "", "", ""),
    "{clock} {level} [main] {logger} - {text}": ("{level}", "", "{logger}", ""),
    "{clock} - {logger} - {level} - {text}": ("{level}", "", "{logger}", ""),
    "{clock}  {level} 7 --- [{service}] [ main] {logger} : {text}": ("{level}", "{service}", "{logger}", ""),
    "{level}:{logger}:{text}": ("{level}", "", "{logger}", ""),
    "Nov 23 10:00:00 {service} {service}[7]: the {text}": ("", "{service}", "", "{service}"),
    'time=2026-11-23T10:00:00Z level={level}+1 msg="{text}"': ("{level}", "", "", ""),
}
"""Level, service, logger and host of each."""


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(deadline=None, max_examples=40)
@given(several=st.lists(st.tuples(CLOCKS, LEVELS, SERVICES, LOGGERS, TEXTS), min_size=1, max_size=4))
def test_the_head_of_a_line_says_who_says_it_and_how_severe_it_is(layout: str, several: list[tuple[str, str, str, str, str]]) -> None:
    names = ("clock", "level", "service", "logger", "text")
    values = [dict(zip(names, one, strict=True)) for one in several]
    lines = [layout.format_map(one) for one in values]

    found = seen(Decoder(DecodeRules(format="text")).decode([line.encode() for line in lines], np.full(len(lines), KAFKA_MS)).entries)

    heads = [(one.level, one.service, one.fields.get("logger", ""), one.fields.get("host.name", "")) for one in found]
    assert heads == [tuple(part.format_map(one) for part in LAYOUTS[layout]) for one in values]
    assert [one.text for one in found] == lines
