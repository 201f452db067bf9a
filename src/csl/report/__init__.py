"""`csl report`: what a run came to, as data and as one page."""
