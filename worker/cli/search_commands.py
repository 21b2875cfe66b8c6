"""`vectail search`, `templates` and `counts`: questions to a running worker. `takes_filters` adds the options of the filters."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import typer

from worker.cli.exits import user_error
from worker.cli.filter_options import Given, as_text, takes_filters
from worker.cli.options import TYPER_SETTINGS, Shared, takes_options, takes_shared

search_app = typer.Typer(**TYPER_SETTINGS)

_COMPARED = 20
_TEXT = 'What to look for, in your own words. Takes "exact words", -without, this OR that, level:ERROR.'
ModeOption = Annotated[
    Literal["dense", "words", "hybrid"] | None,
    typer.Option(help="Search by meaning, by words, or by meaning first. Default: hybrid; by words if TEXT is just an id."),
]
ExpandOption = Annotated[bool, typer.Option("--expand", help="List templates one by one, not as families.")]
TimeoutOption = Annotated[float, typer.Option(help="Seconds to wait for an answer.", min=0.1, max=600, metavar="N")]
AroundOption = Annotated[
    str | None,
    typer.Option(help="Instead of TEXT: show the records around a line, given as in the column `where`.", metavar="TOPIC/PARTITION@OFFSET"),
]
NeighboursOption = Annotated[
    int | None,
    typer.Option("--context", "-C", help="With --around: how many records before and after it. Default: 5.", min=0, max=500, metavar="N"),
]
ByOption = Annotated[
    Literal["service", "host", "trace"] | None,
    typer.Option(
        help="With --around: not the records of its partition, but the lines of the same service, host (host.name) or trace (trace_id),"
        " of all partitions, by time."
    ),
]
DirectOption = Annotated[bool, typer.Option("--direct", help="Read the index on a Milvus server directly; needs no worker and no Kafka.")]
SuggestOption = Annotated[
    bool,
    typer.Option("--suggest", help="Instead: print masks that would merge templates of a file or topic. Needs no index and no worker."),
]


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """What `vectail search` asks for, besides filters."""

    text: Annotated[list[str] | None, typer.Argument(help=_TEXT, metavar="TEXT")] = None
    k: Annotated[int | None, typer.Option("-k", help="How many hits. Default: 10.", min=1, max=1000, metavar="N")] = None
    mode: ModeOption = None
    as_: Annotated[
        Literal["lines", "templates"] | None,
        typer.Option("--as", help="Show lines, or families of templates with their counts. Default: lines."),
    ] = None
    per_template: Annotated[
        int | None,
        typer.Option(help="At most this many lines per template. Default: 1; all if TEXT is just an id.", min=1, max=100, metavar="N"),
    ] = None
    per_family: Annotated[
        int | None,
        typer.Option(help="At most this many lines per family. Default: as many as per template.", min=1, max=100, metavar="N"),
    ] = None
    expand: ExpandOption = False
    around: AroundOption = None
    neighbours: NeighboursOption = None
    by: ByOption = None


@dataclass(frozen=True, kw_only=True)
class TemplatesOptions:
    """What `vectail templates` asks for, besides filters; `source` and `file` are those of `--suggest`."""

    source: Annotated[
        str | None, typer.Argument(help="With --suggest: a file, `-` for standard input, or a topic.", metavar="FILE|TOPIC")
    ] = None
    file: Annotated[
        str | None,
        typer.Option(help="With --suggest: this file or folder (and --topic: this topic), where a word could be either.", metavar="FILE"),
    ] = None
    like: Annotated[
        str | None, typer.Option(help="Show the templates whose meaning is nearest to this, nearest first.", metavar="TEXT")
    ] = None
    k: Annotated[int, typer.Option("-k", help="How many families, or templates.", min=1, max=1000, metavar="N")] = 20
    expand: ExpandOption = False
    of: Annotated[
        str | None,
        typer.Option(help="Show the template of this log line: how often it came, and since when; or the nearest.", metavar="LINE"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class CountsOptions:
    """What `vectail counts` asks for, besides filters."""

    text: Annotated[
        list[str] | None, typer.Argument(help="Count the lines of the families that fit this. Default: all lines.", metavar="TEXT")
    ] = None
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[time|template|family|service|level|topic|field:NAME|field]",
            help="What to count by; may be given twice. `field`: which fields there are. Default: template, or time with --buckets.",
        ),
    ] = None
    buckets: Annotated[
        int | None, typer.Option(help="Buckets of time, at most. Default: 60 with --by time.", min=2, max=1000, metavar="N")
    ] = None
    compare: Annotated[
        str | None,
        typer.Option(help="Instead: compare the values of one label or field with those so long before: 1h, 1d, 7d.", metavar="SPAN"),
    ] = None
    top: Annotated[int | None, typer.Option(help="Only the largest groups, this many. Default: 20.", min=1, max=1000, metavar="N")] = None
    mode: ModeOption = None


@search_app.command("search")
@takes_options
@takes_filters
@takes_shared()
def search_verb(*, options: SearchOptions, filters: Given, timeout: TimeoutOption = 15.0, shared: Shared) -> None:
    """Ask a running worker which lines fit a question.

    The worker is `vectail run` or `vectail demo --serve`; question and answer travel over Kafka. By default each hit is of another
    family: templates that differ in little more than names and numbers. --around asks no question: it shows the lines before and after a
    hit, as `grep -C` does. --template or --family without TEXT shows the newest lines.
    """
    from worker.cli.question_options import around_of, checked, text_of
    from worker.cli.search_screen import show_answer
    from worker.cli.search_verb import ask_once, with_dead_letter

    question = asdict(options)
    around = around_of(question.pop("around"), question.pop("neighbours"), question.pop("by"))
    request = checked(**question | {"text": text_of(options.text), "around": around}, filters=filters)
    kafka = shared.settings().kafka
    answer = ask_once(kafka, request, timeout_s=timeout)
    if around is not None:
        answer = with_dead_letter(kafka, around, answer)
    shared.show(answer, lambda screen, answer: show_answer(screen, request, answer))


@search_app.command("templates")
@takes_options
@takes_filters
@takes_shared()
def templates_verb(
    *,
    options: TemplatesOptions,
    filters: Given,
    timeout: TimeoutOption = 60.0,
    direct: DirectOption = False,
    suggest: SuggestOption = False,
    shared: Shared,
) -> None:
    """List the families of templates, most frequent first.

    For each: how many templates and lines of the span it has, when the first and the last line came, and an example. Asks a running
    worker, over Kafka. `--family ID --expand` lists the templates of one family; `--of LINE` tells whether lines like a pasted one came.
    """
    like, k, expand = options.like, options.k, options.expand
    if suggest:
        if like is not None or expand or direct or filters.keys() - {"topic"}:
            raise user_error("--suggest reads a file or a topic, not the index: leave out --like, --expand, --direct and the filters")
        _print_suggestions(shared, options, filters.get("topic"))
        return
    if word := options.source or options.file:
        raise user_error(f"{word}: add --suggest for masks of a file or topic, or --like TEXT for templates that mean this")
    from worker.cli.question_options import checked, checked_text
    from worker.cli.search_screen import show_templates
    from worker.cli.search_verb import ask_once
    from worker.cli.templates_verb import read_directly

    settings = shared.settings()

    def ask(request: Mapping[str, object]) -> dict[str, object]:
        return read_directly(settings, request, timeout) if direct else ask_once(settings.kafka, request, timeout_s=timeout)

    if options.of is not None:
        if like is not None or {"template", "family"} & filters.keys():
            raise user_error("--of finds the template of a line: leave out --like, --template and --family")
        from worker.cli.pasted_line import templates_of_line
        from worker.cli.search_screen import show_looked_up

        shared.show(templates_of_line(settings, checked_text(options.of), filters, ask), show_looked_up)
        return
    text = None if like is None else checked_text(like)
    shared.show(ask(checked(text=text, mode=text and "dense", as_="templates", k=k, expand=expand, filters=filters)), show_templates)


@search_app.command("counts")
@takes_options
@takes_filters
@takes_shared()
def counts_verb(*, options: CountsOptions, filters: Given, timeout: TimeoutOption = 60.0, shared: Shared) -> None:
    """Count lines by time, family, service, level and more.

    By one or two of time, template, family, service, level, topic and the kept fields, or by the names of the fields. Asks a running
    worker, over Kafka. Counts are exact, or the answer says that it is incomplete. --compare 1d shows the last day against the day before,
    by service unless --by says otherwise (family: what is new); with --since 1h, the last hour against the same one a day before.
    """
    from worker.cli.compare_screen import show_compared
    from worker.cli.counts_screen import show_counts
    from worker.cli.question_options import checked, compared, text_of
    from worker.cli.search_verb import ask_once

    question = asdict(options) | {"text": text_of(options.text), "by": list(map(as_text, options.by or ()))}
    if options.compare is None:
        request = checked(as_="counts", **question, filters=filters)
    else:
        top, by = question.pop("top"), question["by"] or ["service"]
        question |= {"by": [] if by == ["family"] else by, "k": top or _COMPARED}  # families are compared where nothing else is named
        request = checked(as_="compare", **question | compared(filters, options.compare))
    answer = ask_once(shared.settings().kafka, request, timeout_s=timeout)
    shared.show(answer, show_counts if options.compare is None else lambda screen, answer: show_compared(screen, answer, by[0]))


def _print_suggestions(shared: Shared, options: TemplatesOptions, topics: object) -> None:
    """Print suggested masks for a file or a topic; of `topics`, the first is meant. Raises CommandFailed."""
    from worker.cli.suggest_masks import SuggestOptions, suggest_masks
    from worker.masks.suggested_toml import shown_suggestions

    topic = str(topics[0]) if isinstance(topics, list) else None
    wanted = SuggestOptions(source=options.source, file=options.file, topic=topic, top=options.k)
    shared.print(suggest_masks(shared.settings(), wanted), shown_suggestions)
