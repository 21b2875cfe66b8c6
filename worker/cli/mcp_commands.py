"""`vectail mcp`: its options and help."""

from typing import Annotated

import typer

from worker.cli.exits import user_error
from worker.cli.options import TYPER_SETTINGS, BootstrapOption, ConfigOption, kafka_flags, settings_or_fail

mcp_app = typer.Typer(**TYPER_SETTINGS)


@mcp_app.command("mcp")
def mcp_verb(
    *,
    url: Annotated[
        str | None,
        typer.Option(help="Address of the worker, such as http://127.0.0.1:8790. Default: http.host and http.port.", metavar="URL"),
    ] = None,
    over_kafka: Annotated[bool, typer.Option("--kafka", help="Ask over Kafka instead of HTTP; the lag stays unknown then.")] = False,
    bootstrap_servers: BootstrapOption = None,
    config: ConfigOption = None,
) -> None:
    """Let an assistant ask a running worker (MCP).

    Speaks the Model Context Protocol on standard input and output, for an MCP client that starts it. The tools only read. A worker also
    answers at /mcp itself. The token is http.token of the settings.
    """
    from worker.cli.mcp import ask_over_http, ask_over_kafka, serve_client

    if url is not None and (over_kafka or bootstrap_servers is not None):
        raise user_error("--url asks over HTTP: leave out --kafka and --bootstrap-servers")
    settings = settings_or_fail(config, kafka_flags(bootstrap_servers))
    if over_kafka or bootstrap_servers is not None:
        with ask_over_kafka(settings) as index:
            serve_client(index)
    else:
        serve_client(ask_over_http(settings, url))
