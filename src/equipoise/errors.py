"""The error tree. Everything this package raises on purpose is an `EquipoiseError`.

    EquipoiseError
    |-- InputError(ValueError)             what the caller gave does not hold
    |-- MissingExtraError(ImportError)     an optional library is not installed
    |-- DetectorError(RuntimeError)        a stance detector could not answer
    |-- EmbedderError(RuntimeError)        an embedding model could not be loaded or answer
    |-- GenerationError(RuntimeError)      a generator could not be set up
    `-- StoreError(RuntimeError)           an index or store is missing, broken or of another model
        `-- StoreUnavailableError          a store's server cannot be reached now; later it may

A message says what must hold, what came, and what to do.
"""


class EquipoiseError(Exception):
    """Any error this package raises on purpose."""


class InputError(EquipoiseError, ValueError):
    """What the caller gave does not hold; the message names what must hold and what came."""


class MissingExtraError(EquipoiseError, ImportError):
    """An optional library is not installed; the message carries the install line."""


class DetectorError(EquipoiseError, RuntimeError):
    """A stance detector could not be loaded or could not answer."""


class EmbedderError(EquipoiseError, RuntimeError):
    """An embedding model could not be loaded or could not answer."""


class GenerationError(EquipoiseError, RuntimeError):
    """A generator could not be set up (answers that fail are outcomes, not errors)."""


class StoreError(EquipoiseError, RuntimeError):
    """An index or a store is missing, broken, or was built with another model."""


class StoreUnavailableError(StoreError):
    """A store's server cannot be reached or went away: the same call may work later."""
