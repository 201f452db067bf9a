"""The probabilistic model with latent states (paper, "Probabilistic Model" and "Inference Procedure")."""
