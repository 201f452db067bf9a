"""Charts: which pairs a grammar derives, and how."""
