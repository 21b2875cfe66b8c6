"""`vectail search`: its options and its help."""

from typing import Annotated, Literal

import typer

from worker.cli.given import kafka_flags, settings_or_fail
from worker.cli.options import PLAIN, AsJson, Bootstrap, Config
from worker.cli.output import print_json

search_app = typer.Typer(**PLAIN)

Mode = Annotated[
    Literal["dense", "bm25", "hybrid"] | None,
    typer.Option(help="By meaning, by words, or by both. Not given: by both where the index has words."),
]
Form = Annotated[Literal["lines", "templates"] | None, typer.Option("--as", help="Show lines, or kinds of lines with their counts.")]
Several = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only of this one; may be repeated.")]
Around = Annotated[
    str | None,
    typer.Option(help="In place of TEXT: show what stands around a hit, as `where` names it.", metavar="TOPIC/PARTITION@OFFSET"),
]
Neighbours = Annotated[
    int | None,
    typer.Option(
        "--context", "-C", help="With --around: so many records before it and after it; 5 if not given.", min=0, max=500, metavar="N"
    ),
]


@search_app.command("search")
def search_verb(
    text: Annotated[list[str] | None, typer.Argument(help="What to look for, in your own words.", metavar="TEXT")] = None,
    *,
    k: Annotated[int | None, typer.Option("-k", help="How many hits; 10 if not given.", min=1, max=1000, metavar="N")] = None,
    mode: Mode = None,
    form: Form = None,
    per_template: Annotated[
        int | None, typer.Option(help="At most so many lines of one kind. Not given: 1; of an id alone, all.", min=1, max=100, metavar="N")
    ] = None,
    since: Annotated[str | None, typer.Option(help="Only of this span (90s, 15m, 1h, 7d), or since a time.", metavar="WHEN")] = None,
    until: Annotated[str | None, typer.Option(help="Only from before this span, or before a time.", metavar="WHEN")] = None,
    service: Several = None,
    level: Several = None,
    topic: Several = None,
    around: Around = None,
    neighbours: Neighbours = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for an answer.", min=0.1, max=600, metavar="N")] = 15.0,
    bootstrap_servers: Bootstrap = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Ask a running worker which lines fit a question.

    The worker is `vectail run` or `vectail demo --serve`; question and answer go over Kafka. Each hit is another kind of line. With
    --around, no question: the lines before and after one that was found, as `grep -C` has it.
    """
    from time import time

    from worker.cli.hits_screen import show_around, show_hits, show_kinds_like
    from worker.cli.question import SearchQuestion, read_place
    from worker.cli.screen import Screen
    from worker.cli.search import as_text, checked_text, search
    from worker.cli.since import since_ms, until_ms

    now_ms = round(time() * 1000)
    question = SearchQuestion(
        text=checked_text(" ".join(text)) if text else None,
        around=None if around is None else read_place(around),
        neighbours=neighbours,
        k=k,
        mode=mode,
        form=form,
        per_template=per_template,
        since_ms=None if since is None else since_ms(since, now_ms=now_ms),
        until_ms=None if until is None else until_ms(until, now_ms=now_ms),
        services=tuple(map(as_text, service or ())),
        levels=tuple(map(as_text, level or ())),
        topics=tuple(map(as_text, topic or ())),
    ).checked()
    settings = settings_or_fail(config, kafka_flags(bootstrap_servers))
    answer = search(settings.kafka, question, timeout_s=timeout)
    if as_json:
        print_json(answer)
    elif question.around is not None:
        show_around(Screen(), answer)
    elif question.form == "templates":
        show_kinds_like(Screen(), answer, advice=question.advice())
    else:
        show_hits(Screen(), answer, advice=question.advice(), offers_neighbours=True)
