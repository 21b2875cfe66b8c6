"""What people really send as JSON, whatever they call it: levels, traces, batches and traces behind messages."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.consumers.decode.seen import Seen, decode_values, seen

_OFTEN = 5
"""As often as a record must come for the fast paths to be taken."""
WORDS = st.from_regex("[a-z]{3,8}", fullmatch=True).filter(lambda word: word not in {"log", "err", "msg"})
LEVELS = st.sampled_from([("error", "ERROR"), ("WARNING", "WARN"), ("Info", "INFO"), ("fatal", "FATAL")])
JOINED = st.sampled_from(["_", "-", ".", "camel"])
FRAMES = st.sampled_from(
    [
        *["\tat {0}.{1}.{2}(X.java:{3})", "    at {1} (/app/{0}.js:{3}:1)", "   at {0}.{1}.{2}(String a) in /src/{0}.cs:line {3}"],
        *['Traceback (most recent call last):\n  File "/app/{0}.py", line {3}, in {1}'],
        *["goroutine {3} [running]:\nmain.{1}(0x1)\n\t/app/{0}.go:{3} +0x1d", "/app/{0}.rb:{3}:in `{1}'", "#0 /app/{0}.php({3}): {1}()"],
        *["   0: {0}::{1}::{2}\n             at ./src/{0}.rs:{3}:9", "    ({0} 0.1.0) lib/{1}.ex:{3}: {2}/1"],
    ]
)


@st.composite
def traces(draw: st.DrawFn) -> str:
    """Return frames of one language, without the exception before them."""
    frame = draw(FRAMES)
    parts = draw(st.lists(st.tuples(WORDS, WORDS, WORDS, st.integers(1, 99_999)), min_size=1, max_size=4))
    return "\n".join(frame.format(*part) for part in parts)


def name_of(words: list[str], way: str) -> str:
    return words[0] + "".join(map(str.capitalize, words[1:])) if way == "camel" else way.join(words)


def read(document: dict[str, Any]) -> list[Seen]:
    """Return the entries of a record, which are the same where it comes often."""
    value = json.dumps(document).encode()
    alone = seen(decode_values([value]).entries)
    often = seen(decode_values([value] * _OFTEN).entries)
    assert [one._replace(row=0) for one in often] == alone * _OFTEN
    return alone


@settings(deadline=None, max_examples=60)
@given(around=st.sampled_from(["log", "event", "record", "error", ""]), core=st.sampled_from(["level", "severity", "lvl"]), way=JOINED,
       level=LEVELS, other=WORDS)  # fmt: skip
def test_a_level_is_found_under_the_words_that_name_one_and_under_no_others(
    around: str, core: str, way: str, level: tuple[str, str], other: str
) -> None:
    written, wanted = level
    said = [word for word in (around, core) if word]
    (entry,) = read({"message": "it happened", name_of(said, way): written})
    assert entry.level == wanted
    (entry,) = read({"message": "it happened", name_of([f"x{other}", *said], way): written})
    assert entry.level == ""


@settings(deadline=None, max_examples=100)
@given(name=WORDS, within=st.booleans(), trace=traces(), before=st.booleans())
def test_a_trace_reaches_the_index_under_any_name(name: str, within: bool, trace: str, before: bool) -> None:  # noqa: FBT001 - drawn
    written = f"some.Error: closed\n{trace}" if before or "\n" not in trace else trace
    field = {f"x{name}": {"y": written} if within else written}
    (entry,) = read({"message": "it happened", **field})
    assert (entry.text, entry.trace) == ("it happened", f"\n{written}")


@settings(deadline=None, max_examples=100)
@given(
    message=st.sampled_from(["it failed", "ERROR it failed: closed", "语 failed", "Error: closed"]),
    trace=traces(),
    heading=st.sampled_from(["", "shop.ClosedException: closed\n"]),
)
def test_a_trace_behind_a_message_goes_out_of_the_text_and_nothing_is_lost(message: str, trace: str, heading: str) -> None:
    behind = trace if trace.startswith(("Traceback", "goroutine")) else heading + trace
    (entry,) = read({"msg": f"{message}\n{behind}"})
    assert (entry.text, entry.trace) == (message, f"\n{behind}")


@settings(deadline=None, max_examples=60)
@given(key=st.sampled_from(["records", "Records", "logEvents", "log_events", "events", "logRecords", "entries", "items"]),
       texts=st.lists(WORDS, min_size=1, max_size=5), level=LEVELS, app=WORDS)  # fmt: skip
def test_a_batch_under_any_such_key_becomes_its_entries_with_the_fields_around_them(
    key: str, texts: list[str], level: tuple[str, str], app: str
) -> None:
    written, wanted = level
    elements = [{"message": text, "severity": written} for text in texts]
    entries = read({"app": app, "shard": 7, key: elements})
    assert [(one.sub, one.text) for one in entries] == list(enumerate(texts))
    assert {(one.service, one.level, one.fields["shard"]) for one in entries} == {(app, wanted, 7)}
    assert len(read({"message": "it happened", key: elements})) == 1
