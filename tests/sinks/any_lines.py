"""Lines of every kind for property tests: odd texts, long lines, several entries a record, clocks that go anywhere."""

from hypothesis import strategies as st

from sinks.line import Line
from sinks.lines import cut_of
from sinks.row import TemplateText

TIME_MS = 1_700_000_000_000
_IDENTIFIERS = (
    *("blk_-1608999687919862906", "10.250.19.102:54106", "fe80::1", "00:1b:44:11:3a:b7", "a1/b2/c3", "user7@host-9", "req-38101a0b:7"),
)
_WORDS = ("failed", "for", "503", "ünï", "“quoted”", "x" * 70, "\0", "\n", "\x1b[31m", "=", "2015-10-18T18:01:47.978Z", "18:01:47,978")
TOKENS = st.one_of(st.sampled_from(_IDENTIFIERS + _WORDS), st.text("aB1 :/@._-\né", max_size=12))
TEXTS = st.one_of(st.lists(TOKENS, max_size=8).map(" ".join), st.text(max_size=30))
NAMES = st.sampled_from(["", "sshd", "nova-api", "日志"])
LEVELS = st.sampled_from(["", "INFO", "ERROR"])
TIMES = st.one_of(
    st.integers(TIME_MS, TIME_MS + 10_000),
    st.integers(TIME_MS - 10**10, TIME_MS + 10**10),
    st.sampled_from([0, -1, -(2**63), 2**63 - 1]),
)
FIELDS = st.one_of(st.none(), st.sampled_from(['{"user":"root"}', '{"user":"a\\nb","n":5}', '{"user": "a\\nb",\n"n": 5}', "{}"]))


@st.composite
def any_lines(draw: st.DrawFn, /, *, least: int = 1, most: int = 40) -> list[Line]:
    """Return lines of one partition with distinct offset, sub and chunk, in any order."""
    places = st.tuples(st.one_of(st.integers(0, 30), st.sampled_from([2**33, 2**62])), st.integers(0, 3), st.integers(0, 2))
    return [
        Line(
            topic="logs",
            epoch="0a0b0c0d",
            partition=3,
            offset=offset,
            sub=sub,
            chunk=chunk,
            chunks=(chunks := draw(st.integers(chunk + 1, 3))),
            text=draw(st.none() | TEXTS.filter(bool)),
            template_text=TemplateText(draw(TEXTS)),
            time=draw(TIMES),
            kafka_time=draw(TIMES),
            service=draw(NAMES),
            level=draw(LEVELS),
            fields=draw(FIELDS),
            cut=cut_of(["x"] * chunks),
            records=draw(st.sampled_from([1, 1, 1, 70_000])),
            entries=draw(st.sampled_from([1, 1, 4])),
            leader_epoch=(leader_epoch := draw(st.sampled_from([-1, 0, 0, 2**31 - 2]))),
            last_leader_epoch=leader_epoch + draw(st.sampled_from([0, 0, 0, 1])),
        )
        for offset, sub, chunk in draw(st.lists(places, min_size=least, max_size=most, unique=True))
    ]
