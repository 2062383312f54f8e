"""Attacks on files that you own, with a manifest of what was planted."""
