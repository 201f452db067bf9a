"""`csl grammar …`: look at grammars and check them."""

import typer

app = typer.Typer(help="Look at a grammar, check it, and see what it covers.", no_args_is_help=True)
