"""How `vectail demo` begins: before its libraries are imported and the model is loaded, which takes seconds, it says where the page is.

The port listens from then on; who opens the page earlier than the server runs is answered as soon as it does.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from producers.file_lines import STDIN, FileUnreadable, find_files
from worker.cli.exits import user_error
from worker.cli.options import Flags, worker_settings_or_fail
from worker.cli.screen import Screen
from worker.cli.verb_options import DemoOptions
from worker.runtime.listening import HttpRefused, Listening, listen
from worker.settings.settings import Settings
from worker.settings.tables import EngineTable

WORTH_WAITING_BYTES: Final = 500_000_000
"""Files of this size are indexed for more than a minute (57,900 known lines of 141 bytes a second on two cores: `benchmarks/README.md`), so
the 17 s that vLLM takes longer to start are less than a quarter of it. llama.cpp embeds 80 new templates a second there."""


class DemoStart(NamedTuple):
    """What is known before anything is loaded."""

    config: Path | None
    """The settings file."""
    settings: Settings
    http: Listening | None
    """Where the page will be; None if the demo does not serve."""
    files: tuple[str, ...] = ()
    """Those that the arguments name, a folder's in their order."""


class EngineChoice(NamedTuple):
    """Which engine the demo uses, and the line that says so."""

    name: str
    """Empty: the fastest here that needs only a CPU."""
    line: str


def begin_demo(options: DemoOptions, config: Path | None, screen: Screen) -> DemoStart:
    """Check files and settings, listen, and say where the page is. Raises CommandFailed."""
    try:
        files = find_files(options.files or (), screen.warn)
    except FileUnreadable as error:
        raise user_error(error) from error
    settings = worker_settings_or_fail(config, engine_flags(options.engine))
    if not (options.serve and settings.http.enabled):
        return DemoStart(config, settings, None, files)
    try:
        http = listen(settings.http)
    except HttpRefused as error:
        raise user_error(error) from error
    say_page(screen, http, "it answers in a moment, once the model is loaded")
    return DemoStart(config, settings, http, files)


def say_page(screen: Screen, http: Listening, state: str) -> None:
    """Say where the page is, and in which state it is."""
    if screen.is_terminal:
        screen.write(("Open ", ""), (f"{http.url}/", "bold cyan"), (f" in a browser: {state}.", ""))
    else:
        screen.say_always(f"Open {http.url}/ in a browser: {state}.")


def engine_flags(name: str | None) -> Flags:
    """Return the setting that `--engine` overrides."""
    return {} if name is None else {"engine": {"name": name}}


def choose_engine(table: EngineTable, files: Sequence[str], *, has_vllm: bool) -> EngineChoice:
    """Return the engine for these files: `has_vllm` is whether a worker would use vLLM here.

    The size of standard input is unknown, so it counts as small.
    """
    loading = "Loading vLLM and the model, about 20 seconds"
    if not has_vllm:
        return EngineChoice("" if table.name == "auto" else table.name, "Loading the model …")
    if table.name == "vllm":
        return EngineChoice("vllm", f"{loading} …")
    size_bytes = sum(Path(file).stat().st_size for file in files if file != STDIN)
    if size_bytes >= WORTH_WAITING_BYTES:
        return EngineChoice("vllm", f"{loading}: {size_bytes / 1e6:,.0f} MB are worth the wait (--engine onnx begins at once) …")
    return EngineChoice("", "Loading the model without vLLM, which would take about 20 seconds (--engine vllm) …")
