"""Bearer keys: read from a file or a variable, compared in constant time."""

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from equipoise.errors import InputError


class Keys:
    """The keys that open a server. Only their hashes are kept; no key shows in `repr` or a log.

    Args:
        keys: texts that are not blank; none at all leaves the server open.

    Raises:
        InputError: a key is blank, or has white space or other characters than visible ASCII.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        given = list(keys)
        for number, key in enumerate(given, start=1):
            if not key or not all("!" <= character <= "~" for character in key):
                raise InputError(f"key {number} must be visible ASCII characters without spaces")
        self._hashes = [_hash(key) for key in given]

    def __bool__(self) -> bool:
        """True when a key is asked for."""
        return bool(self._hashes)

    def open_to(self, authorization: str | None) -> bool:
        """True when the header says `Bearer` and one of the keys, or no key is asked for.

        Every key is compared, whatever the first ones gave, so that time tells nothing.
        """
        if not self._hashes:
            return True
        scheme, _, key = (authorization or "").partition(" ")
        given = _hash(key.strip())
        matches = [hmac.compare_digest(given, known) for known in self._hashes]
        return scheme.lower() == "bearer" and any(matches)


def read_keys(
    file: Path | None, variable: str | None, environ: Mapping[str, str] | None = None
) -> Keys:
    """The keys in a file (one a line; blank lines and lines with # left out) and in a variable.

    A variable holds one key or several with commas between.

    Raises:
        InputError: the file cannot be read, the variable is not set, or one holds no key.
    """
    found: list[str] = []
    if file is not None:
        try:
            lines = file.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the file of keys {file} cannot be read: {error}") from error
        kept = [line.strip() for line in lines]
        found += _some([key for key in kept if key and not key.startswith("#")], f"file {file}")
    if variable is not None:
        value = (os.environ if environ is None else environ).get(variable, "")
        keys = [key.strip() for key in value.split(",") if key.strip()]
        found += _some(keys, f"environment variable {variable}")
    return Keys(found)


def _some(keys: list[str], where: str) -> list[str]:
    # A server that was meant to be closed must not open because a file or a variable is empty.
    if not keys:
        raise InputError(f"the {where} must hold at least one key, and holds none")
    return keys


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
