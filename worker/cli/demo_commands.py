"""`vectail demo`: options and help; the work is in `demo`."""

from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Annotated, Literal

import typer

from worker.cli.exits import stop_on_signals
from worker.cli.options import TYPER_SETTINGS, Shared, takes_options, takes_shared

demo_app = typer.Typer(**TYPER_SETTINGS)


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """The options of `vectail demo`."""

    files: Annotated[
        list[str] | None, typer.Argument(help="Log files, `-` for standard input. Default: a synthetic stream of logs.", metavar="FILE")
    ] = None
    query: Annotated[
        list[str] | None,
        typer.Option("--query", "-q", help="Ask this when everything is indexed; may be repeated.", metavar="TEXT"),
    ] = None
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the index in this folder; the next demo with it adds to the index.")
    ] = None
    k: Annotated[int, typer.Option("-k", help="Hits for each question.", min=1, max=1000, metavar="N")] = 5
    serve: Annotated[bool, typer.Option("--serve", help="Keep running, with the page in your browser and `vectail search`.")] = False
    engine: Annotated[
        Literal["auto", "vllm", "llama"] | None,
        typer.Option(help="Engine of the model. Default: engine.name; if that is auto, llama.cpp, and vLLM only for large files."),
    ] = None
    synthetic_lines: Annotated[int, typer.Option(hidden=True, min=1)] = 20_000
    """Length of the synthetic stream when no file is given."""


@demo_app.command("demo")
@takes_options
@takes_shared(kafka=False)
def demo_verb(*, options: DemoOptions, shared: Shared) -> None:
    """See it work: index your log files and search them.

    Everything runs in one process, on an embedded Kafka broker, Milvus Lite and a model that is installed with vectail: no server and
    no GPU is needed.
    """
    from worker.cli.demo_start import begin_demo

    screen = shared.screen()
    start = begin_demo(options, shared.config, screen)

    from worker.cli.demo import demo  # takes seconds to import

    stop = Event()
    stop_on_signals(stop.set)
    demo(options, screen, start=start, ready=shared.show, stop=stop)
