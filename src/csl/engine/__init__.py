"""Engines: how work over many items is spread, over threads of one machine or over workers of a Ray cluster."""
