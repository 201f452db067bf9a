"""`python -m csl`, and `accelerate launch -m csl`: the command `csl`."""

from csl.cli import main

main()
