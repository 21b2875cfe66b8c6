"""`vectail doctor`: options and help; the work is in `worker.inspecting.doctor`."""

from typing import Annotated

import typer

from worker.cli.exits import failure
from worker.cli.options import TYPER_SETTINGS, Shared, takes_shared
from worker.runtime.wording import counted

doctor_app = typer.Typer(**TYPER_SETTINGS)


@doctor_app.command("doctor")
@takes_shared()
def doctor_verb(
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show only warnings and problems.")] = False,
    shared: Shared,
) -> None:
    """Say what is wrong with a set-up, and what to do about it.

    Looks at Kafka, the Schema Registry, Redis, Milvus, the model and its engine, the installed versions, this machine and the settings,
    side by side, and changes nothing. What is right is shown too, with what was found. docs/doctor.md explains every check.

    Exit codes: 0 no problem, perhaps warnings; 1 a problem was found; 2 the settings must be changed first.
    """
    from worker.cli.doctor_screen import show_report
    from worker.inspecting.doctor import examine
    from worker.inspecting.doctor_looks import looks_of_tool
    from worker.runtime.logs import configure_logs

    settings = shared.settings()
    configure_logs(quiet=True)
    report = examine(looks_of_tool(settings))
    shared.show(report.document(), lambda screen, _document: show_report(screen, report, with_ok=not quiet))
    problems = sum(one.state == "problem" for one in report.checks)
    if problems:
        raise failure(counted(problems, "problem"))
