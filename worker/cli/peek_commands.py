"""The verb `vectail peek`: its options and their help."""

from typing import Annotated

import typer

from consumers.decode.rules import Format
from worker.cli.options import TYPER_SETTINGS, Shared, takes_shared

peek_app = typer.Typer(**TYPER_SETTINGS)


@peek_app.command("peek")
@takes_shared()
def peek_verb(
    source: Annotated[str, typer.Argument(help="A topic, a log file, or `-` for standard input.", metavar="TOPIC|FILE")],
    *,
    number: Annotated[int, typer.Option("-n", help="Look at this many records.", min=1, max=10_000, metavar="N")] = 10,
    form: Annotated[Format | None, typer.Option("--format", help="Read them as this format; overrides the settings.")] = None,
    topic: Annotated[
        str | None, typer.Option(help="Of a file: the topic whose settings hold. Default: the first of the settings.", metavar="NAME")
    ] = None,
    shared: Shared,
) -> None:
    """See how records are decoded, before you index them.

    Shows of each record the format, the time and who said it, level, service, fields, the template that its text gets, and what was
    uncertain. Of a topic the newest records are read, of a file the first lines. Nothing is indexed, nothing is committed.
    """
    from worker.cli.peek import PeekOptions, peek
    from worker.cli.peek_screen import show_peek

    settings = shared.settings()
    told = peek(settings, PeekOptions(source=source, number=number, topic=topic, form=form))
    shared.show(told, show_peek)
