"""Values of a record's own fields in its text: what is replaced, what is an ordinary word, and the C code against the rule in Python."""

import json
import re
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.columns import as_texts, null_column, string_column, take
from consumers.text.field_values import replace_values
from consumers.text.mask import Masker
from tests.rows import rows

KINDS = {
    "user": ("user", "username", "userid", "enduser", "enduserid"),
    "host": (
        *("host", "hostname", "node", "nodename", "remotehost", "clienthost", "clientaddress", "clientaddr", "clientip", "remoteaddress"),
        *("remoteaddr", "remoteip", "sourceaddress", "sourceip", "peeraddress"),
    ),
    "id": (
        *("pod", "podname", "podid", "poduid", "container", "containername", "containerid", "requestid", "xrequestid", "reqid"),
        *("correlationid", "session", "sessionid", "traceid", "spanid", "parentspanid", "instanceid", "transactionid"),
    ),
}
CUES = {
    "user": "user|username|login|account|for|by|of",
    "host": "host|hostname|node|server|on|from|to|at",
    "id": "pod|container|session|request|instance",
}
LEFT = {"user": "someone", "host": "host", "id": ""}
PLAIN = re.compile(r"[^0-9\-_.@:\x80-\U0010ffff]*")


def kind_by_name(name: str) -> str | None:
    parts = name.split(".")
    for count in (1, 2):
        letters = "".join(parts[-count:])
        if re.fullmatch(r"[A-Za-z0-9_-]*", letters) is None:
            return None
        found = [kind for kind, names in KINDS.items() if re.sub(r"[_-]", "", letters).lower() in names]
        if found:
            return found[0]
    return None


def expected(text: str, fields: Mapping[str, object] | None) -> str:
    """Replace by a regular expression, which looks behind and ahead, the longest value first."""
    values: dict[str, list[str]] = {}
    for name, value in (fields or {}).items():
        kind = kind_by_name(name)
        if name.split(".")[-1] == "session" and re.search("[0-9]", str(value)) is None:
            continue
        if kind is None or not isinstance(value, str) or not 3 <= len(value.encode()) <= 256 or re.search(r'["\\\x00-\x1f]', value):
            continue
        if re.search(r"[A-Za-z\x80-\U0010ffff]", value) and value.lower() not in ("error", "closed", "opened", "ready", "connection"):
            values.setdefault(value, []).append(kind)
    word = r"[A-Za-z0-9_\x80-\U0010ffff]"
    begins = rf"(?<!{word})(?<!{word}[-.])"
    ends = rf"(?!{word})(?![-.]{word})"
    announced = re.compile(rf"(?:^|(?<!{word}))(?P<cue>{word}+)(?=[:= \"'`(<\[])[:=]? ?[\"'`(<\[]?\Z")
    done, place = "", 0
    while place < len(text):
        for value in sorted(values, key=lambda one: -len(one)):
            if re.compile(begins + re.escape(value) + ends).match(text, place) is None:
                continue
            is_plain = PLAIN.fullmatch(value) is not None and re.search("[a-z][A-Z]", value) is None
            cue = announced.search(text[:place])
            kinds = [one for one in values[value] if not is_plain or (cue is not None and re.fullmatch(f"(?i:{CUES[one]})", cue["cue"]))]
            if kinds:
                done, place = done + LEFT[kinds[0]], place + len(value)
                break
        else:
            done, place = done + text[place], place + 1
    return done


def replaced(text: str, **fields: object) -> str:
    return as_texts(replace_values(string_column([text]), string_column([written(fields)])))[0]


def written(fields: Mapping[str, object]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize(("text", "fields", "after"), rows("field_values/replaced"))
def test_a_value_goes_where_it_stands_as_a_whole_word(text: str, fields: Mapping[str, object], after: str) -> None:
    assert replaced(text, **fields) == after == expected(text, fields)


@pytest.mark.parametrize(("text", "fields"), rows("field_values/kept"))
def test_what_may_be_an_ordinary_word_a_number_or_another_field_stays(text: str, fields: Mapping[str, object]) -> None:
    assert replaced(text, **fields) == text == expected(text, fields)


@pytest.mark.parametrize("cue", ["user gateway", "for gateway", "by 'gateway'", "user: gateway", "User=gateway", "of [gateway]"])
def test_a_plain_word_goes_where_a_word_before_it_announces_it(cue: str) -> None:
    assert replaced(cue, user="gateway") == cue.replace("gateway", "someone") == expected(cue, {"user": "gateway"})
    assert replaced(cue, pod="gateway") == cue


def test_a_column_in_which_nothing_goes_is_the_same_and_rows_have_their_own_fields() -> None:
    text = string_column(["web-1 a", "web-1 b", "web-1 c", "web-2 d"])
    assert replace_values(text, null_column(4)) is text
    assert replace_values(text, string_column([None, "{}", '{"host":"web-9"}', '{"level":"web-2"}'])) is text
    fields = string_column([None, '{"host":"web-1"}', '{"host":"web-9"}', '{"n":1.5,"b":true,"host":"web-2"}'])
    assert as_texts(replace_values(text, fields)) == ["web-1 a", "host b", "web-1 c", "host d"]
    some = [3, 1]
    rows = [take(column, np.array(some)) for column in (text, fields)]
    assert as_texts(replace_values(*rows)) == ["host d", "host b"]


@pytest.mark.parametrize(
    "broken", ["", "{", '{"host"', '{"host":', '{"host":"web-1', '{"host":"web-1\\', '"', '{"host":{"host":"web-1"', "[]"]
)
def test_what_is_no_flat_object_is_read_no_further(broken: str) -> None:
    assert len(as_texts(replace_values(string_column(["web-1 x"]), string_column([broken])))) == 1


def test_the_masks_treat_what_is_left_as_they_treat_a_name() -> None:
    masker = Masker()
    for line in ("Failed password for {} from 10.0.0.1 port 22", "session opened for user {} by root", "user={} came"):
        text = line.format("ada")
        assert masker.mask([replaced(text, user="ada")]) == masker.mask([text])
    assert masker.mask([replaced("connected to db-2:9000", host="db-2")]) == masker.mask(["connected to db-2.example.org:9000"])


NAMES = st.sampled_from(["host", "user", "host.name", "ctx.user_id", "pod", "sessionId", "level", "k8s.container.name", "a.b.node", "é"])
WORDS = st.sampled_from(["web-1", "web", "ada", "Ada", "for", "from", "user", "pod", "WARN", "é-1", "x.y", "a@b", "1234", "on"])
GLUE = st.sampled_from([" ", "  ", "-", ".", "=", ": ", "[", "]", "'", '"', ":", "/", "", "é", ", "])
TEXTS = st.lists(st.tuples(WORDS, GLUE).map("".join), min_size=1, max_size=8).map("".join)
FIELDS = st.none() | st.dictionaries(NAMES, WORDS | TEXTS | st.integers(), max_size=4)


@given(st.lists(st.tuples(TEXTS, FIELDS), max_size=6))
def test_the_c_code_does_what_the_rule_says(rows: list[tuple[str, Mapping[str, object] | None]]) -> None:
    text = string_column([text for text, _ in rows])
    fields = string_column([None if one is None else written(one) for _, one in rows])
    assert as_texts(replace_values(text, fields)) == [expected(one, own) for one, own in rows]
