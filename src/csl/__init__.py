"""CSL, the Compositional Structure Learner: grammars from pairs, and new pairs from grammars."""

__version__ = "0.1.0"
