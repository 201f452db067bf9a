"""Sequence-to-sequence models: training on original and synthetic pairs, prediction, and what predictions are worth."""
