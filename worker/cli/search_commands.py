"""`vectail search`, `templates` and `counts`: questions to a running worker. Options and help; each has its work in a file of its name."""

from typing import Annotated, Literal

import typer

from worker.cli.exclusions import (
    NotFamilyOption,
    NotFieldOption,
    NotLevelOption,
    NotServiceOption,
    NotTemplateOption,
    NotTopicOption,
    read_exclusions,
)
from worker.cli.exits import user_error
from worker.cli.filter_values import as_text, read_families, read_fields, read_templates
from worker.cli.options import (
    TYPER_SETTINGS,
    BootstrapOption,
    ConfigOption,
    JsonOption,
    kafka_flags,
    settings_or_fail,
    since_ms,
    until_ms,
)
from worker.cli.output import print_json
from worker.cli.suggest_commands import SuggestOption, print_suggestions

search_app = typer.Typer(**TYPER_SETTINGS)


ModeOption = Annotated[
    Literal["dense", "words", "hybrid"] | None,
    typer.Option(help="Search by meaning, by words, or by both. Default: both; by words if TEXT is just an id."),
]
ResultOption = Annotated[
    Literal["lines", "templates"] | None,
    typer.Option("--as", help="Show lines, or families of templates with their counts. Default: lines."),
]
UntilOption = Annotated[str | None, typer.Option(help="Only lines older than 90s, 15m, 1h, 7d, or from before a time.", metavar="WHEN")]
ServiceOption = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only lines of this service; may be repeated.")]
LevelOption = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only lines of this level; may be repeated.")]
TopicOption = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only lines of this topic; may be repeated.")]
TemplateOption = Annotated[
    list[str] | None, typer.Option(metavar="ID", help="Only lines of this template, named by its id; may be repeated.")
]
FamilyOption = Annotated[
    list[str] | None, typer.Option(metavar="ID", help="Only lines of this family of templates, named by its id; may be repeated.")
]
ExpandOption = Annotated[bool, typer.Option("--expand", help="List templates one by one, not as families.")]
FieldOption = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="NAME=VALUE", help="Only lines with this value of a kept field; may be repeated."),
]
TraceOption = Annotated[str | None, typer.Option("--trace-id", metavar="ID", help="Only lines of this trace.")]
TimeoutOption = Annotated[float, typer.Option(help="Seconds to wait for an answer.", min=0.1, max=600, metavar="N")]
AroundOption = Annotated[
    str | None,
    typer.Option(help="Instead of TEXT: show the records around a hit, given as in the column `where`.", metavar="TOPIC/PARTITION@OFFSET"),
]
NeighboursOption = Annotated[
    int | None,
    typer.Option("--context", "-C", help="With --around: how many records before and after it. Default: 5.", min=0, max=500, metavar="N"),
]


@search_app.command("search")
def search_verb(
    text: Annotated[list[str] | None, typer.Argument(help="What to look for, in your own words.", metavar="TEXT")] = None,
    *,
    k: Annotated[int | None, typer.Option("-k", help="How many hits. Default: 10.", min=1, max=1000, metavar="N")] = None,
    mode: ModeOption = None,
    form: ResultOption = None,
    per_template: Annotated[
        int | None,
        typer.Option(help="At most this many lines per template. Default: 1; all if TEXT is just an id.", min=1, max=100, metavar="N"),
    ] = None,
    per_family: Annotated[
        int | None,
        typer.Option(help="At most this many lines per family. Default: as many as per template.", min=1, max=100, metavar="N"),
    ] = None,
    expand: ExpandOption = False,
    since: Annotated[str | None, typer.Option(help="Only lines of the last 90s, 15m, 1h, 7d, or since a time.", metavar="WHEN")] = None,
    until: UntilOption = None,
    service: ServiceOption = None,
    level: LevelOption = None,
    topic: TopicOption = None,
    template: TemplateOption = None,
    family: FamilyOption = None,
    field: FieldOption = None,
    trace_id: TraceOption = None,
    not_service: NotServiceOption = None,
    not_level: NotLevelOption = None,
    not_topic: NotTopicOption = None,
    not_template: NotTemplateOption = None,
    not_family: NotFamilyOption = None,
    not_field: NotFieldOption = None,
    around: AroundOption = None,
    neighbours: NeighboursOption = None,
    timeout: TimeoutOption = 15.0,
    bootstrap_servers: BootstrapOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a running worker which lines fit a question.

    The worker is `vectail run` or `vectail demo --serve`; question and answer travel over Kafka. By default each hit is of another
    family: templates that differ in little more than names and numbers. --around asks no question: it shows the lines before and after a
    hit, as `grep -C` does. --template or --family without TEXT shows the newest lines.
    """
    from time import time

    from worker.cli.question import SearchQuestion, read_coordinates
    from worker.cli.screen import Screen
    from worker.cli.search import checked_text, search_once
    from worker.cli.search_screen import show_around, show_hits, show_templates_like

    now_ms = round(time() * 1000)
    question = SearchQuestion(
        text=checked_text(" ".join(text)) if text else None,
        around=None if around is None else read_coordinates(around),
        neighbours=neighbours,
        k=k,
        mode=mode,
        form=form,
        per_template=per_template,
        per_family=per_family,
        expand=expand or None,
        since_ms=None if since is None else since_ms(since, now_ms=now_ms),
        until_ms=None if until is None else until_ms(until, now_ms=now_ms),
        services=tuple(map(as_text, service or ())),
        levels=tuple(map(as_text, level or ())),
        topics=tuple(map(as_text, topic or ())),
        templates=read_templates(template or ()),
        families=read_families(family or ()),
        fields=read_fields([as_text(one) for one in field or ()]),
        trace_id=None if trace_id is None else as_text(trace_id),
        excluded=read_exclusions(not_service, not_level, not_topic, not_family, not_field, not_template),
    ).checked()
    settings = settings_or_fail(config, kafka_flags(bootstrap_servers))
    answer = search_once(settings.kafka, question, timeout_s=timeout)
    if as_json:
        print_json(answer)
    elif question.around is not None:
        show_around(Screen(), answer)
    elif question.form == "templates":
        show_templates_like(Screen(), answer, advice=question.advice())
    else:
        show_hits(Screen(), answer, advice=question.advice(), offers_neighbours=True)


@search_app.command("templates")
def templates_verb(
    *,
    like: Annotated[
        str | None, typer.Option(help="Show the templates whose meaning is nearest to this, nearest first.", metavar="TEXT")
    ] = None,
    since: Annotated[str, typer.Option(help="Count the lines of the last 90s, 15m, 1h, 7d, since a time, or all.", metavar="WHEN")] = "1h",
    k: Annotated[int, typer.Option("-k", help="How many families, or templates.", min=1, max=1000, metavar="N")] = 20,
    expand: ExpandOption = False,
    until: UntilOption = None,
    service: ServiceOption = None,
    level: LevelOption = None,
    topic: TopicOption = None,
    family: FamilyOption = None,
    field: FieldOption = None,
    not_service: NotServiceOption = None,
    not_level: NotLevelOption = None,
    not_topic: NotTopicOption = None,
    not_family: NotFamilyOption = None,
    not_field: NotFieldOption = None,
    timeout: TimeoutOption = 60.0,
    direct: Annotated[
        bool, typer.Option("--direct", help="Read the index on a Milvus server directly; needs no worker and no Kafka.")
    ] = False,
    suggest: SuggestOption = None,
    bootstrap_servers: BootstrapOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the families of templates, most frequent first.

    For each: how many templates and lines of the span it has, when the first and the last line came, and an example. Asks a running
    worker, over Kafka. `--family ID --expand` lists the templates of one family.
    """
    if suggest is not None:
        if like is not None or until or service or level or topic or family or field or expand or direct:
            raise user_error("--suggest reads a file or a topic, not the index: leave out --like, --expand, --direct and the filters")
        if not_service or not_level or not_topic or not_family or not_field:
            raise user_error("--suggest reads a file or a topic, not the index: leave out what excludes lines")
        print_suggestions(settings_or_fail(config, kafka_flags(bootstrap_servers)), suggest, top=k, as_json=as_json)
        return
    from time import time

    from worker.cli.question import check_span
    from worker.cli.screen import Screen
    from worker.cli.search import checked_text
    from worker.cli.search_screen import show_templates
    from worker.cli.templates import TemplatesOptions, list_templates

    now_ms = round(time() * 1000)
    text = None if like is None else checked_text(like)
    settings = settings_or_fail(config, kafka_flags(bootstrap_servers))
    options = TemplatesOptions(
        like=text,
        since_ms=since_ms(since, now_ms=now_ms),
        k=k,
        expand=expand,
        until_ms=None if until is None else until_ms(until, now_ms=now_ms),
        services=tuple(map(as_text, service or ())),
        levels=tuple(map(as_text, level or ())),
        topics=tuple(map(as_text, topic or ())),
        families=read_families(family or ()),
        fields=read_fields([as_text(one) for one in field or ()]),
        excluded=read_exclusions(not_service, not_level, not_topic, not_family, not_field),
        timeout_s=timeout,
        direct=direct,
    )
    check_span(options.since_ms, options.until_ms)
    answer = list_templates(settings, options)
    if as_json:
        print_json(answer)
    else:
        show_templates(Screen(), answer)


@search_app.command("counts")
def counts_verb(
    text: Annotated[
        list[str] | None, typer.Argument(help="Count the templates that fit this best. Default: all lines.", metavar="TEXT")
    ] = None,
    *,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[time|template|family|service|level|topic|field:NAME|field]",
            help="What to count by; may be given twice. `field`: which fields there are. Default: template, or time with --buckets.",
        ),
    ] = None,
    buckets: Annotated[
        int | None, typer.Option(help="Buckets of time, at most. Default: 60 with --by time.", min=2, max=1000, metavar="N")
    ] = None,
    top: Annotated[int | None, typer.Option(help="Only the largest groups, this many. Default: 20.", min=1, max=1000, metavar="N")] = None,
    mode: ModeOption = None,
    since: Annotated[str, typer.Option(help="Count the lines of the last 90s, 15m, 1h, 7d, since a time, or all.", metavar="WHEN")] = "1h",
    until: UntilOption = None,
    service: ServiceOption = None,
    level: LevelOption = None,
    topic: TopicOption = None,
    template: TemplateOption = None,
    family: FamilyOption = None,
    field: FieldOption = None,
    trace_id: TraceOption = None,
    not_service: NotServiceOption = None,
    not_level: NotLevelOption = None,
    not_topic: NotTopicOption = None,
    not_template: NotTemplateOption = None,
    not_family: NotFamilyOption = None,
    not_field: NotFieldOption = None,
    timeout: TimeoutOption = 60.0,
    bootstrap_servers: BootstrapOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count lines by time, family, service, level and more.

    By one or two of time, template, family, service, level, topic and the kept fields, or by the names of the fields. Asks a running
    worker, over Kafka. Counts are exact, or the answer says that it is incomplete.
    """
    from time import time

    from worker.cli.counts import CountsQuestion, count_once
    from worker.cli.counts_screen import show_counts
    from worker.cli.screen import Screen
    from worker.cli.search import checked_text

    now_ms = round(time() * 1000)
    question = CountsQuestion(
        text=checked_text(" ".join(text)) if text else None,
        by=tuple(map(as_text, by or ())),
        buckets=buckets,
        top=top,
        mode=mode,
        since_ms=since_ms(since, now_ms=now_ms),
        until_ms=None if until is None else until_ms(until, now_ms=now_ms),
        services=tuple(map(as_text, service or ())),
        levels=tuple(map(as_text, level or ())),
        topics=tuple(map(as_text, topic or ())),
        templates=read_templates(template or ()),
        families=read_families(family or ()),
        fields=read_fields([as_text(one) for one in field or ()]),
        trace_id=None if trace_id is None else as_text(trace_id),
        excluded=read_exclusions(not_service, not_level, not_topic, not_family, not_field, not_template),
    ).checked()
    answer = count_once(settings_or_fail(config, kafka_flags(bootstrap_servers)).kafka, question, timeout_s=timeout)
    if as_json:
        print_json(answer)
    else:
        show_counts(Screen(), answer)
