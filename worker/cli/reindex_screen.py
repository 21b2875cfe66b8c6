"""What a person sees of `vectail reindex`: the plan, how far it is, what was found, and what to do next."""

from collections.abc import Sequence

from worker.asking.reindex_answers import ReindexFindingJson, ReindexJson, ReindexViewJson
from worker.cli import screen_tables as tables
from worker.cli.screen import Figures, Screen, shown_times
from worker.cli.screen_tables import Column
from worker.runtime.wording import counted, seconds_of

_MB = 1_000_000
_MEANING = {
    "building": "being filled",
    "ready": "complete",
    "old": "kept up to date, to go back to",
    "dropping": "being removed",
}


def named(view: ReindexViewJson) -> str:
    """Return what a view is called."""
    return view["model"] or f"embedding space {view['space']}"


def show_begun(screen: Screen, document: ReindexJson, *, goes_on: bool) -> None:
    """Show what a change takes, and, if nobody waits for it, that it `goes_on`."""
    plan = document["plan"]
    if plan is not None:
        takes = "how long is not known yet" if plan["seconds"] is None else f"about {seconds_of(plan['seconds'])} while no lines come in"
        free = "" if plan["free_bytes"] is None else f" of {_shown_mb(plan['free_bytes'])} that are free"
        screen.say(f"From {named(_view_asked(document))} to {plan['model']}: {counted(plan['templates'], 'template')} to embed, {takes}.")
        screen.say(f"It takes {_shown_mb(plan['memory_bytes'])} of memory{free}. No line is read again.")
    if goes_on:
        screen.say("It goes on in the worker; `vectail reindex --status` shows how far it is.")


def figures_of(document: ReindexJson, space: str) -> Figures:
    """Return how far a view is."""
    now = next((one["templates"] or 0 for one in document["views"] if one["space"] == space), 0)
    whole = max((one["templates"] or 0 for one in document["views"]), default=0)
    figures = {"templates": now, "of": whole}
    if document["per_s"] and now < whole:
        figures |= {"a second": round(document["per_s"]), "seconds left": round((whole - now) / document["per_s"])}
    return figures


def show_changed(screen: Screen, document: ReindexJson, settings_lines: Sequence[str]) -> None:
    """Show what was found, and what is left to do."""
    _show_findings(screen, document)
    asked = _view_asked(document)
    screen.say(f"The index is asked with {named(asked)} now.")
    screen.say("Next, set this in the settings of every worker before its next restart:")
    screen.lines([[("  " + line, "")] for line in settings_lines])
    for one in document["views"]:
        if one is not asked:
            screen.say(f"{named(one)} is kept up to date: `vectail reindex --rollback` goes back, `--drop` removes it.")


def show_rolled_back(screen: Screen, document: ReindexJson) -> None:
    """Show what is asked after going back."""
    screen.say(f"The index is asked with {named(_view_asked(document))} again; let [model] in the settings name it.")
    for one in document["views"]:
        if not one["preferred"]:
            screen.say(f"{named(one)} is kept up to date: `vectail reindex --to {named(one)}` goes there again, `--drop` removes it.")


def show_dropped(screen: Screen, document: ReindexJson) -> None:
    """Show what is being removed."""
    for one in document["views"]:
        if one["state"] == "dropping":
            screen.say(f"{named(one)} is removed within a minute: questions that were embedded for it are answered first.")


def show_status(screen: Screen, document: ReindexJson) -> None:
    """Show the views as a table, then what the worker says of the change."""
    day, times = shown_times([one["since_ms"] for one in document["views"] if one["since_ms"]])
    since = dict(zip((one["space"] for one in document["views"] if one["since_ms"]), times, strict=True))
    columns: list[Column[ReindexViewJson]] = [
        Column("model", named),
        Column("asked", lambda one: "yes" if one["preferred"] else "no"),
        Column("templates", "templates", is_right=True),
        Column("", lambda one: _MEANING.get(one["state"], one["state"])),
        Column(f"since {day}".rstrip(), lambda one: since.get(one["space"])),
    ]
    screen.lines(tables.table(document["views"], columns))
    for one in document["views"]:
        if not one["loaded"] and one["state"] != "dropping" and one["space"] != document["asked"]:
            own = next((named(view) for view in document["views"] if view["space"] == document["asked"]), "its own")
            screen.say(f"This worker does not have {named(one)}, and goes on with {own}.")
    if len(document["views"]) == 1:
        return
    if document["filled_by"]:
        pace = f", {document['per_s']:,.0f} templates a second" if document["per_s"] else ""
        screen.say(f"Filled by {document['filled_by']}{pace}.")
    if document["same"]:
        screen.say("Both have the same templates.")
    if document["failed"]:
        screen.say(f"{counted(document['failed'], 'template')} without a vector of the new model.")
    _show_findings(screen, document)
    if document["error"]:
        screen.say(f"It stands still: {document['error']}")


def _show_findings(screen: Screen, document: ReindexJson) -> None:
    columns: list[Column[ReindexFindingJson]] = [
        Column("", "name"),
        Column("", lambda one: tables.cell("met", "green") if one["met"] else tables.cell("not met", "bold red")),
        Column("", "found"),
    ]
    screen.lines(tables.table(document["findings"], columns))
    if document["overlap"] is not None:
        screen.say(f"{document['overlap']:.0%} of the ten nearest templates are the same in both models; 30 to 40 % is usual.")


def _view_asked(document: ReindexJson) -> ReindexViewJson:
    return next(one for one in document["views"] if one["preferred"])


def _shown_mb(size_bytes: int) -> str:
    return f"{size_bytes / _MB:,.0f} MB"
