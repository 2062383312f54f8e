"""How polarized a text is on an axis of disagreement, and a filter built on it."""
