"""What a person sees of a replay, and of no dead letters."""

from tests.worker.cli.conftest import NewScreen
from worker.cli.dlq_screen import show_list, show_replayed
from worker.inspecting.kept_records import OTHER_BYTES


def test_letters_whose_lines_were_there_and_those_that_are_refused_are_told_apart(new_screen: NewScreen) -> None:
    record = {"topic": "logs", "partition": 0, "offset": 5}
    refused = {"partition": 1, "offset": 7, "record": record, "pieces": None, "reason": OTHER_BYTES}
    screen, written = new_screen(200)
    show_replayed(
        screen,
        {
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
    show_list(screen, {"topic": "dead", "replayed": 0, "newest": []})
    assert written.getvalue() == "No dead letters in dead.\n"
