"""What a person sees of a replay, and of no dead letters."""

from tests.worker.cli.conftest import NewScreen
from worker.cli.dlq import StoredLetterJson
from worker.cli.dlq_screen import show_list, show_replayed
from worker.inspecting.kept_records import OTHER_BYTES


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
            "not_replayable": {},
            "left_letters": [refused],
        },
    )
    assert written.getvalue().splitlines() == [
        "3 of 4 dead letters replayed: 1 line and 0 templates stored.",
        "The index held the lines of 2 of them already.",
        "1 letter left:",
        f"  1/7  logs/0/5  {OTHER_BYTES}",
    ]


def test_no_dead_letters_is_said(new_screen: NewScreen) -> None:
    screen, written = new_screen(80)
    show_list(screen, {"topic": "dead", "letters": 0, "replayed": 0, "kinds": [], "newest": []})
    assert written.getvalue() == "No dead letters in dead.\n"
