"""Runs: what the algorithms make, kept in folders."""
