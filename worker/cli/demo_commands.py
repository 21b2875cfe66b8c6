"""`vectail demo`: options and help; the work is in `demo`."""

from threading import Event

import typer

from worker.cli.exits import stop_on_signals
from worker.cli.options import TYPER_SETTINGS, Shared, takes_options, takes_shared
from worker.cli.verb_options import DemoOptions

demo_app = typer.Typer(**TYPER_SETTINGS)


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
