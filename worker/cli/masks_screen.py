"""What a person sees of `vectail masks`: the masks as a table; what a change of masks merges and splits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from worker.cli.estimate_screen import shown_share
from worker.cli.screen import Screen
from worker.cli.screen_tables import Column, StyledText
from worker.masks.word_places import common_start
from worker.runtime.logs import printable
from worker.runtime.wording import counted, cut

_SHOWN_PARTS = 5
_LINES_WIDTH = 9
_READ = {"all": "all of them read", "sample": "a sample, spread over the files", "first": "the first ones"}


def show_masks(screen: Screen, listed: Mapping[str, Any]) -> None:
    """Show what `list_masks` returned, in the order of application."""
    screen.say(f"Masks {listed['version']}, mode {listed['mode']}, in the order in which they are applied.")
    own = [mask | {"removes": f"your own: {printable(mask['pattern'])} → {printable(mask['replacement'])}"} for mask in listed["added"]]
    screen.rows([*own, *listed["masks"]], _MASKS)


def _takes_out(mask: Mapping[str, Any]) -> list[StyledText]:
    return [(mask["removes"], ""), (f"\n{mask['example']} → {mask['becomes']}" if "example" in mask else "", "dim")]


_MASKS: Sequence[Column[Mapping[str, Any]]] = (
    Column("mask", lambda mask: [(mask["name"], "" if mask["on"] else "dim")], "cyan"),
    Column("", lambda mask: "on" if mask["on"] else "off"),
    Column("takes out", _takes_out, is_wide=True),
)


def show_difference(screen: Screen, facts: Mapping[str, Any]) -> None:
    """Show what `diff_masks` returned."""
    old, new = facts["old"], facts["new"]
    screen.say(f"{counted(facts['lines'], 'line')} of {counted(facts['files'], 'file')}, {_READ[facts['basis']]}.")
    if facts["left_out"]:
        screen.say(f"Left out, because a rule drops them or they are too long: {facts['left_out']:,}.")
    names = {side: f"{printable(facts[side]['name'])} (masks {facts[side]['masks']})" for side in ("old", "new")}
    screen.say(f"Templates: {old['templates']:,} with {names['old']}, {new['templates']:,} with {names['new']}.")
    share = facts["changed_lines"] / facts["entries"] if facts["entries"] else 0.0
    if not facts["changed_lines"]:
        screen.say("No line gets another template.")
        return
    screen.say(f"Lines that get another template: {facts['changed_lines']:,} ({shown_share(share)}).")
    if facts["renamed_templates"]:
        screen.say(f"Templates that keep their lines and only get another text: {facts['renamed_templates']:,}.")
    merged, split = facts["merged"], facts["split"]
    _show_groups(screen, f"Merged: {merged['parts']:,} old templates become {merged['templates']:,}", merged, "from")
    _show_groups(screen, f"Split: {counted(split['templates'], 'old template')} become {split['parts']:,}", split, "into")


def _show_groups(screen: Screen, title: str, found: Mapping[str, Any], word: str) -> None:
    if not found["templates"]:
        screen.say("")
        screen.say(f"{title.partition(':')[0]}: none.")
        return
    screen.say("")
    screen.write((f"{title} ({counted(found['lines'], 'line')}).", "bold"))
    room = screen.width - _LINES_WIDTH - 2
    for group in found["groups"]:
        screen.write((f"{group['lines']:>{_LINES_WIDTH},}  ", "cyan"), (cut(printable(group["template"]), room), ""))
        for parts in _parts(group, word, screen.width):
            screen.write(*parts)
    rest = found["templates"] - len(found["groups"])
    if rest:
        screen.say(f"… and {rest:,} more; -k shows more.")


def _parts(group: Mapping[str, Any], word: str, width: int) -> Iterator[list[StyledText]]:
    shown = group["largest"][:_SHOWN_PARTS]
    indent = _LINES_WIDTH + 2 + len(word) + 1
    texts = _from_difference([part["template"] for part in shown], width - indent - _LINES_WIDTH - 2)
    for place, (part, text) in enumerate(zip(shown, texts, strict=True)):
        label = "" if place else word
        yield [(f"{'':{_LINES_WIDTH + 2}}{label:<{len(word) + 1}}{part['lines']:>{_LINES_WIDTH},}  {text}", "dim")]
    rest = group["parts"] - len(shown)
    if rest:
        yield [(f"{'':{indent + _LINES_WIDTH + 2}}… and {rest:,} more", "dim")]


def _from_difference(templates: Sequence[str], room: int) -> list[str]:
    """Return texts on one line each; where they do not fit, from a little before the place at which they begin to differ."""
    texts = [printable(text) for text in templates]
    differs_at = len(common_start(texts))
    if max(map(len, texts)) > room and differs_at > room // 2:
        begin = texts[0].rfind(" ", 0, max(differs_at - room // 4, 0)) + 1
        texts = [f"…{text[begin:]}" if begin else text for text in texts]
    return [cut(text, room) for text in texts]
