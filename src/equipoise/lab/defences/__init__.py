"""Defences to compare, one file each, on one interface (`base`)."""
