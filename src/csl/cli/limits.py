"""The options of commands that parse: how much memory and time one input may take."""

from typing import Annotated

import typer

MemoryOption = Annotated[
    str,
    typer.Option(
        "--max-memory", metavar="SIZE", help="For the chart of one input, as 512M or 2G; beyond it, no output."
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", help="For one input; beyond it, no output. Default: no limit."),
]
