"""Options that a verb hands to its work as they are: both import the class, and neither the other. A field declares an option."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

_SETS = "a settings file, `default` (the built-in masks), or `2` (those of version 2)"


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """The options of `vectail demo`."""

    files: Annotated[
        list[str] | None, typer.Argument(help="Log files or folders, `-` for standard input. Default: synthetic logs.", metavar="FILE")
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
        Literal["auto", "vllm", "llama", "onnx"] | None,
        typer.Option(help="Engine of the model. Default: engine.name; if that is auto, the fastest one, and vLLM only for large files."),
    ] = None
    synthetic_lines: Annotated[int, typer.Option(hidden=True, min=1)] = 20_000
    """Length of the synthetic stream when no file is given."""


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    """The options of `vectail masks diff`."""

    old: Annotated[str, typer.Argument(help=f"The masks of now: {_SETS}.", metavar="OLD")]
    new: Annotated[str, typer.Argument(help="The masks to come, given likewise.", metavar="NEW")]
    files: Annotated[list[str], typer.Argument(help="Log files or folders, `-` for standard input.", metavar="FILE")]
    sample: Annotated[int, typer.Option(help="Read about this many lines, spread over the files.", min=1, max=5_000_000, metavar="N")] = (
        200_000
    )
    k: Annotated[int, typer.Option("-k", help="Show this many merged templates, and as many split ones.", min=1, max=1000, metavar="N")] = (
        10
    )
    topic: Annotated[
        str | None, typer.Option(help="The topic whose settings hold. Default: the first of the settings.", metavar="NAME")
    ] = None
