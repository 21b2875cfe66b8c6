"""`python -m benchmarks.decode`: its keys, and that what it measures is really decoded."""

import json
from random import Random

import numpy as np
import pytest

from benchmarks import decode
from benchmarks.decode import main, sides_of
from consumers.decode.decoder import Decoder
from consumers.decode.rules import DecodeRules
from tests.benchmarks.guarded import lacking

KEYS = {"text_per_s", "json_per_s", "fat_json_per_s", "otlp_per_s", "syslog_per_s", "iso_times_per_s", "other_times_per_s"}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure little: figures mean nothing here."""
    monkeypatch.setattr(decode, "LIST_RECORDS", 200)
    monkeypatch.setattr(decode, "QUICK_LISTS", 1)
    monkeypatch.setattr(decode, "QUICK_ROUNDS", 2)


@pytest.mark.usefixtures("short")
def test_every_kind_has_a_rate_and_a_ratio() -> None:
    shown: list[str] = []
    main(shown.append, ["--quick", "--json"])
    figures = json.loads(shown[0])
    assert set(figures) == {*KEYS, "vs_library"}
    assert set(figures["vs_library"]) == KEYS
    assert all(figures[name] > 0 < figures["vs_library"][name] for name in KEYS)
    assert lacking("benchmarks.decode", figures) == []


@pytest.mark.usefixtures("short")
def test_a_list_that_is_not_decoded_gives_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "_syslog", lambda _random, i: f"no syslog {i}")
    with pytest.raises(SystemExit, match="syslog: not all records"):
        sides_of(1)["syslog_per_s"].ours()


def test_the_records_are_what_their_formats_look_like() -> None:
    random = Random(1)
    values = [json.dumps(decode._fat_object(random, 3)).encode(), json.dumps(decode._small_object(random, 3)).encode()]  # noqa: SLF001
    assert [len(value) // 50 for value in values] == [770 // 50, 190 // 50]
    (entry,) = Decoder(DecodeRules(format="otlp_proto")).decode([decode._otlp_batch(random, 0)], np.zeros(1, np.int64)).entries.row[:1]  # noqa: SLF001
    assert entry == 0
