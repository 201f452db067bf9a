"""Run folders, and the stages that work in them."""
