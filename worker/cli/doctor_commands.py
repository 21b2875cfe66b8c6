"""`vectail doctor`: options and help; the work is in `doctor`."""

from typing import Annotated

import typer

from worker.cli.exits import failure
from worker.cli.options import TYPER_SETTINGS, BootstrapOption, ConfigOption, JsonOption, kafka_flags, settings_or_fail
from worker.cli.output import counted, print_json

doctor_app = typer.Typer(**TYPER_SETTINGS)


@doctor_app.command("doctor")
def doctor_verb(
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show only warnings and problems.")] = False,
    bootstrap_servers: BootstrapOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is wrong with a set-up, and what to do about it.

    Looks at Kafka, the Schema Registry, Redis, Milvus, the model and its engine, the installed versions, this machine and the settings,
    side by side, and changes nothing. What is right is shown too, with what was found. docs/doctor.md explains every check.

    Exit codes: 0 no problem, perhaps warnings; 1 a problem was found; 2 the settings must be changed first.
    """
    from worker.cli.doctor import diagnose
    from worker.cli.doctor_screen import show_report
    from worker.cli.screen import Screen

    report = diagnose(settings_or_fail(config, kafka_flags(bootstrap_servers)))
    if as_json:
        print_json(report.document())
    else:
        show_report(Screen(), report, with_ok=not quiet)
    problems = sum(one.state == "problem" for one in report.checks)
    if problems:
        raise failure(counted(problems, "problem"))
