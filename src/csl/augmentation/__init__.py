"""Augmented training sets: original and synthetic pairs in equal proportions (paper, "Data Augmentation")."""
