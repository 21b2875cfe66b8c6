"""What a person sees of `vectail dlq`: letters by reason, the newest letters, one letter in full, and the result of a replay.

Text from records is escaped, so no control character of theirs reaches the terminal.
"""

from collections.abc import Sequence

from worker.cli.dlq import LetterKindJson, ListedLettersJson, StoredLetterJson
from worker.cli.dlq_replay import ReplayReportJson
from worker.cli.screen import Screen, shown_times
from worker.cli.screen_tables import Column, facts
from worker.inspecting.letter_advice import deciding_setting, obstacle_of, way_back
from worker.inspecting.stored_dead_letters import StoredDeadLetter
from worker.runtime.logs import printable
from worker.runtime.wording import counted

_MOST_PIECES = 20
_MOST_LEFT = 20


def _record(topic: str, partition: int | None, offset: int | None) -> str:
    return f"{topic} (never a record)" if offset is None else f"{topic}/{partition}/{offset}"


def _record_of(one: StoredLetterJson) -> str:
    record = one["record"]
    return _record(record["topic"], record["partition"], record["offset"])


def _state(one: StoredLetterJson) -> str:
    state = "replayed: " if one["replayed"] else "replayed in part: " if one["partly_replayed"] else ""
    return f"{state}{one['reason']}"


_KINDS: Sequence[Column[LetterKindJson]] = (
    Column("letters", "letters"),
    Column("topic", "topic"),
    Column("first", lambda group: _time(group["first"])),
    Column("last", lambda group: _time(group["last"])),
    Column("reason", "reason"),
)
_LETTERS: Sequence[Column[StoredLetterJson]] = (
    Column("which", lambda one: f"{one['partition']}/{one['offset']}"),
    Column("time", lambda one: _time(one["time"])),
    Column("record", _record_of),
    Column("pieces", lambda one: "all" if one["pieces"] is None else one["pieces"], is_right=True),
    Column("bytes", "bytes"),
    Column("reason", _state),
)


def show_list(screen: Screen, result: ListedLettersJson) -> None:
    """Show what `list_letters` returned."""
    replayed = f"; {result['replayed']:,} replayed" if result["replayed"] else ""
    if not result["newest"]:
        screen.say(f"No dead letters in {result['topic']}{replayed}.")
        return
    screen.say(f"{counted(result['letters'], 'dead letter')} in {result['topic']}{replayed}:")
    screen.say("")
    screen.rows(result["kinds"], _KINDS)
    screen.say("")
    screen.rows(result["newest"], _LETTERS)


def show_letter(screen: Screen, letter: StoredDeadLetter) -> None:
    """Show one letter in full."""
    own = letter.letter
    state = "yes" if letter.is_replayed else "in part" if letter.is_partly_replayed else "no"
    told = {
        "dead letter": f"{own.partition}/{own.offset} of {own.topic}, {_time(own.time_ms)}",
        "record": f"{_record(letter.topic, letter.partition, letter.offset)}, {_time(letter.time_ms)}",
        "stage": letter.stage,
        "reason": letter.reason,
        "replayed": state,
        "obstacle": "" if letter.is_replayed else obstacle_of(letter.obstacle),
        "way back": way_back(letter, letter.obstacle),
        "setting": deciding_setting(letter),
    }
    screen.lines(facts((name, value) for name, value in told.items() if value))
    if not letter.is_whole:
        screen.say(f"{len(letter.pieces) or letter.unlisted_pieces:,} pieces were rejected:")
        for sub, chunk, reason in letter.pieces[:_MOST_PIECES]:
            screen.say(f"  entry {sub} chunk {chunk}  {visible(reason)}")
        if len(letter.pieces) > _MOST_PIECES:
            screen.say(f"  … and {len(letter.pieces) - _MOST_PIECES:,} more (`--json` prints all)")
    screen.say("headers:")
    for header, content in own.headers:
        screen.say(f"  {visible(header)}: {'null' if content is None else visible(content)}")
    screen.say(f"key: {'null' if own.key is None else visible(own.key)}")
    screen.say("value: null" if own.value is None else f"value ({counted(len(own.value), 'byte')}):")
    for line in (own.value or b"").split(b"\n"):
        screen.say(visible(line))


def show_replayed(screen: Screen, result: ReplayReportJson) -> None:
    """Show what `replay_letters` returned."""
    already = f" ({result['already_replayed']:,} replayed already)" if result["already_replayed"] else ""
    if result["of_other_topics"]:
        screen.say(
            f"{counted(result['of_other_topics'], 'letter')} of topics that these settings do not read: not replayed (--topic replays them)"
        )
    if not result["letters"]:
        screen.say(f"Nothing to replay{already}.")
        return
    if not result["changed"]:
        screen.say(f"{counted(result['letters'], 'dead letter')} would be replayed{already}.")
        return
    stored = f"{counted(result['lines'], 'line')} and {counted(result['templates'], 'template')} stored"
    screen.say(f"{result['replayed']:,} of {counted(result['letters'], 'dead letter')} replayed{already}: {stored}.")
    if result["held_already"]:
        screen.say(f"The index held the lines of {result['held_already']:,} of them already.")
    for why, number in result["not_replayable"].items():
        screen.say(f"{counted(number, 'letter')} cannot be replayed: {why}")
    if result["left"]:
        partly = f", {result['partly_replayed']:,} of them in part" if result["partly_replayed"] else ""
        screen.say(f"{counted(result['left'], 'letter')} left{partly}:")
    for one in result["left_letters"][:_MOST_LEFT]:
        what = "" if one["pieces"] is None else f"{counted(one['pieces'], 'piece')}: "
        screen.say(f"  {one['partition']}/{one['offset']}  {_record_of(one)}  {what}{screen.text(one['reason'])}")
    if result["left"] > _MOST_LEFT:
        screen.say(f"  … and {result['left'] - _MOST_LEFT:,} more (`vectail dlq ls` shows them)")


def visible(content: bytes | str) -> str:
    """Return text that is safe on a terminal: control and format characters, and bytes that are not UTF-8, are escaped."""
    text = content.decode("utf-8", "backslashreplace") if isinstance(content, bytes) else content
    return printable(text)


def _time(time_ms: int) -> str:
    day, (time,) = shown_times([time_ms])
    return f"{day.removesuffix(' UTC')} {time}" if day else time
