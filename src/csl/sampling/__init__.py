"""Sampling new pairs from a grammar and its model (paper, "Data Augmentation")."""
