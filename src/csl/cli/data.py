"""`csl data …`: the benchmark data sets and split makers."""

import typer

app = typer.Typer(help="Prepare benchmark data sets, and split your own.", no_args_is_help=True)
