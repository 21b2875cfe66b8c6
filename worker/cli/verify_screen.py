"""What a person sees of `vectail verify`: the findings by kind, with their coordinates, then the verdict."""

from collections.abc import Mapping
from typing import Any

from worker.cli.estimate_screen import shown_share
from worker.cli.screen import Screen
from worker.inspecting.window_comparer import FINDING_KINDS
from worker.runtime.wording import counted

SHOWN = 10
"""Findings shown of each kind."""
_MEANING = {
    "gap": "records that are neither in the index nor among the dead letters",
    "missing": "lines that are missing",
    "changed": "lines that differ from what their record says",
    "template": "lines whose template is missing",
    "left_over": "lines that their record no longer has, and older copies that differ",
    "foreign": "lines that belong to no record",
    "damaged": "blocks that cannot be read, or that do not fit their lines",
}


def show_verified(screen: Screen, result: Mapping[str, Any]) -> None:
    """Show what `verify_topics` returned."""
    for kind in FINDING_KINDS:
        if result["problems"][kind]:
            _show_kind(screen, kind, result)
    screen.say(_verdict(result))
    for line in _remarks(result):
        screen.say(line)


def _show_kind(screen: Screen, kind: str, result: Mapping[str, Any]) -> None:
    number, left = result["problems"][kind], result["left"][kind]
    repaired = "" if left == number else ", repaired" if not left else f", {left:,} not repaired"
    screen.say(f"{number:,} {_MEANING[kind]}{repaired}:")
    found = [one for one in result["findings"] if one["kind"] == kind]
    for one in found[:SHOWN]:
        piece = "" if one["sub"] is None else f" entry {one['sub']} chunk {one['chunk']}"
        screen.say(
            f"  {one['topic']}/{one['partition']}@{one['offset']}{piece}  {screen.text(one['detail'])}  {screen.text(one['id'])}".rstrip()
        )
    rest = number - sum(one["number"] for one in found[:SHOWN])
    if rest > 0:
        screen.say(f"  … and {rest:,} more (`--json` prints the first thousand)")


def _verdict(result: Mapping[str, Any]) -> str:
    what = f"{counted(result['records'], 'record')}, {counted(result['lines'], 'line')} in {result['seconds']:.1f} s"
    if not result["records"] and not any(one["end_offset"] > one["first_offset"] for one in result["ranges"]):
        return "Nothing to verify: no record of this range is committed."
    if not result["complete"]:
        return f"Not complete: {counted(sum(result['left'].values()), 'problem')} in {what}."
    repaired = sum(result["problems"].values())
    return f"Complete: {what}." if not repaired else f"Complete again: {counted(repaired, 'problem')} repaired; {what}."


def _remarks(result: Mapping[str, Any]) -> list[str]:
    remarks = {
        "not_committed": "not yet committed: {}; the worker has still to process them",
        "dead_letter_pieces": "dead letters instead of lines: {}",
        "copies": "stored twice after a crash or a repair, which readers see once: {}",
        "expired_lines": "past their retention and removed: {}",
        "other_epoch_lines": "of an earlier topic of this name, not checked: {}",
        "other_masks_lines": "of other masks than the current ones, which is fine: {}",
        "sampled_lines": "sampled, stored without text and fields: {}",
        "dropped_lines": "dropped by today's rules: {}",
        "dropped_stored_lines": "stored before today's rules, which would drop them: {}",
        "compacted_lines": "of records that Kafka has compacted away, not checked: {}",
    }
    said = [text.format(f"{result[name]:,}") for name, text in remarks.items() if result[name]]
    if len(result["masks"]) > 1:
        shares = ", ".join(f"{masks} {shown_share(lines / result['lines'])}" for masks, lines in result["masks"].items())
        said.append(f"lines by the version of their masks: {shares}")
    if result["second_view"] is not None:
        said.append(_second_view(result["second_view"]))
    return said


def _second_view(view: Mapping[str, Any]) -> str:
    """Say whether the view that is not asked has the same templates; a worker sees to that, so it is no problem if it has not."""
    named = f"the second view, of {view['model'] or view['space']}"
    if view["state"] == "building":
        return f"{named}, is being filled: {view['missing']:,} templates are missing"
    if not view["missing"] and not view["only_there"]:
        return f"{named}, has the same templates: {view['templates']:,}"
    return f"{named}, lacks {view['missing']:,} templates and has {view['only_there']:,} more; a worker with both models copies them"
