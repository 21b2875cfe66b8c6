"""What a person sees of a replay, and of no dead letters."""

import re

from tests.worker.cli.conftest import NewScreen
from tests.worker.inspecting.audited_index import dead_letter, read_back, record
from worker.cli.dlq import StoredLetterJson, whole_letter
from worker.cli.dlq_screen import show_letter, show_list, show_replayed
from worker.inspecting.kept_records import OTHER_BYTES
from worker.inspecting.stored_dead_letters import CUT, NO_RECORD


def test_letters_whose_lines_were_there_and_those_that_are_refused_are_told_apart(new_screen: NewScreen) -> None:
    refused: StoredLetterJson = {
        "partition": 1,
        "offset": 7,
        "time": 0,
        "reason": OTHER_BYTES,
        "stage": "replay",
        "pieces": None,
        "bytes": 3,
        "record": {"topic": "logs", "partition": 0, "offset": 5, "epoch": "", "time": 0},
        "replayed": False,
        "partly_replayed": False,
        "not_replayable": "",
        "setting": "",
        "way_back": "",
    }
    screen, written = new_screen(200)
    show_replayed(
        screen,
        {
            "topic": "dead",
            "changed": True,
            "letters": 4,
            "replayed": 3,
            "held_already": 2,
            "already_replayed": 0,
            "of_other_topics": 0,
            "lines": 1,
            "templates": 0,
            "left": 1,
            "partly_replayed": 0,
            "not_replayable": {NO_RECORD: 2},
            "left_letters": [refused],
        },
    )
    assert written.getvalue().splitlines() == [
        "3 of 4 dead letters replayed: 1 line and 0 templates stored.",
        "The index held the lines of 2 of them already.",
        f"2 letters cannot be replayed: {NO_RECORD}",
        "1 letter left:",
        f"  1/7  logs/0/5  {OTHER_BYTES}",
    ]


def test_no_dead_letters_is_said(new_screen: NewScreen) -> None:
    screen, written = new_screen(80)
    show_list(screen, {"topic": "dead", "letters": 0, "replayed": 0, "kinds": [], "newest": []})
    assert written.getvalue() == "No dead letters in dead.\n"


def test_whether_a_letter_was_replayed_stands_apart_from_why_it_cannot_be_and_from_the_way_back(new_screen: NewScreen) -> None:
    whole = read_back(dead_letter(record(77, b"disk full"), "too_large: 9 bytes, 4 are allowed"))
    cut = whole._replace(letter=whole.letter._replace(value=b"disk"))
    screen, written = new_screen(400)
    show_letter(screen, cut)
    told = dict(re.findall(r"^([a-z ]+?)  +(.*)$", written.getvalue(), re.MULTILINE))
    assert (told["replayed"], "obstacle" in told, told["setting"]) == ("no", False, "decode.max_record_bytes")
    assert told["way back"].startswith(CUT)
    document = whole_letter(cut)
    assert (document["not_replayable"], document["setting"], document["way_back"]) == ("", told["setting"], told["way back"])
    screen, written = new_screen(400)
    show_letter(screen, cut._replace(is_replayed=True))
    assert "replayed     yes\n" in written.getvalue()
    assert not {"obstacle", "way back"} & {line.split("  ")[0] for line in written.getvalue().splitlines()}
