"""The stages of runs, a file each; `registry` lists them."""
