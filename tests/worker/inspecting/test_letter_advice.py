"""What a dead letter says about the setting that decided it, and about the way back where it cannot be replayed."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from consumers.rejection import Rejection
from producers.envelope import DeadLetter
from producers.file_lines import LineTooLarge
from tests.worker.inspecting.audited_index import dead_letter, read_back, record
from worker.cli.app import app
from worker.indexing.dead_letter_reasons import REJECTION_KINDS, letter_of
from worker.inspecting.letter_advice import SETTINGS, deciding_setting, obstacle_of, way_back
from worker.inspecting.letter_filter import parse_selector
from worker.inspecting.stored_dead_letters import ALTERED, CUT, StoredDeadLetter

DECIDED_BY_NONE = {"too_many_entries", "rejected", "refused"}
SETTINGS_PAGE = (Path(__file__).parents[3] / "docs/settings.md").read_text(encoding="utf-8")


def cut_letter(reason: str = "too_large: 9 bytes, 4 are allowed") -> StoredDeadLetter:
    whole = read_back(letter_of(record(77, b"disk full"), Rejection("decode", "too_large", reason), ()))
    return whole._replace(letter=whole.letter._replace(value=b"disk"))


def test_every_kind_of_reason_names_a_setting_that_exists_or_is_known_to_be_decided_by_none() -> None:
    kinds = {kind for kinds in REJECTION_KINDS.values() for kind in kinds}
    assert set(SETTINGS) == kinds - DECIDED_BY_NONE
    assert set(SETTINGS.values()) <= {*re.findall(r"^### `(\S+)`$", SETTINGS_PAGE, re.MULTILINE)}


@pytest.mark.parametrize(
    ("reason", "setting"),
    [
        ("too_large: 21 bytes, 20 are allowed", "decode.max_record_bytes"),
        ("too_many_chunks", "decode.max_chunks"),
        ("undecodable: not valid UTF-8", "topic.format"),
        ("refused by the sink: no", ""),
    ],
)
def test_a_reason_that_a_setting_decides_names_it(reason: str, setting: str) -> None:
    assert deciding_setting(read_back(dead_letter(record(3, "x"), reason))) == setting


def test_a_letter_that_is_cut_or_altered_says_how_it_is_replayed_nevertheless_and_the_command_is_one() -> None:
    for letter, obstacle, first in ((cut_letter(), CUT, "decode.max_record_bytes"), (cut_letter("undecodable: no"), ALTERED, "the cause")):
        told = way_back(letter, obstacle)
        assert told.startswith(f"{obstacle}; ")
        assert first in told
        assert obstacle_of(obstacle) == ""
        (command,) = re.findall(r"`vectail (.*?)`", told)
        assert parse_selector(shlex.split(command)[2]).matches(letter)
        assert CliRunner().invoke(app, [*shlex.split(command), "--help"]).exit_code == 0


def test_a_letter_that_can_be_replayed_or_was_replayed_needs_no_way_back() -> None:
    letter = read_back(dead_letter(record(3, "x"), "undecodable: no"))
    assert (way_back(letter, letter.obstacle), obstacle_of(letter.obstacle)) == ("", "")
    assert way_back(cut_letter()._replace(is_replayed=True), CUT) == ""


def test_a_line_that_never_became_a_record_is_fed_again_not_read_again() -> None:
    line = LineTooLarge(file="a.log", number=2, head=b"x", size_bytes=5_000, sha256="0" * 64)
    letter = read_back(DeadLetter.too_large(line, topic="logs", time_ms=5))
    assert obstacle_of(letter.obstacle).endswith("feed it again")
    assert (way_back(letter, letter.obstacle), deciding_setting(letter)) == ("", "decode.max_record_bytes")
