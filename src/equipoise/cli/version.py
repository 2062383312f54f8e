"""`equipoise version`."""


def version() -> None:
    """Print the version."""
    from equipoise import __version__
    from equipoise.cli._io import show

    show(__version__)
