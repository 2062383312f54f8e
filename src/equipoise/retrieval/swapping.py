"""A folder written beside its place and swapped in, with the failures of the file system told."""

import errno
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from equipoise.errors import StoreError


def followed(out: Path) -> Path:
    """Where a symbolic link leads to: else the link would be replaced, and its target stay."""
    try:
        return out.resolve() if out.is_symlink() else out
    except (OSError, RuntimeError) as error:  # Python 3.11 and 3.12 raise the latter for a loop
        raise StoreError(f"{out} must lead to a folder: {error}") from error


# What a disk says of itself in the midst of writing.
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Failures of the file system become StoreErrors."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"an index cannot be written at {folder}: {error}") from error


@contextmanager
def work_folder(target: Path) -> Iterator[Path]:
    """A new folder beside `target`, on its file system; removed unless it was renamed away."""
    # Not tempfile: its folders are closed to other users, and an index often is for sharing.
    work = target.parent / f".{target.name}.{secrets.token_hex(4)}.building"
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        work.mkdir()
    try:
        yield work
    except OSError as error:
        # Subtle: the documents come from the caller, whose own failures pass through as they are.
        if error.errno not in _DISK:
            raise
        raise StoreError(f"an index cannot be written at {target}: {error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def swap_in(work: Path, target: Path) -> None:
    """Puts the folder `work` in the place of `target`, and the former one back if that fails."""
    if not target.exists() or not any(target.iterdir()):
        work.replace(target)
        return
    old = work.with_suffix(".old")
    target.replace(old)
    try:
        work.replace(target)
    except OSError:
        old.replace(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
