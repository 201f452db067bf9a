"""Experiments: sweeps, and tables beside the paper's figures."""
