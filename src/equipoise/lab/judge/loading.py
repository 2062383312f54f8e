"""From a judge's name to the judge, refused where it would judge its own kind."""

import re
from importlib import import_module
from pathlib import Path
from typing import Final

from equipoise.errors import InputError, MissingExtraError
from equipoise.lab.answers.families import family_of
from equipoise.lab.judge.base import Judge
from equipoise.stance.folder import BUNDLED, ONNX_NAMES, bundled_names, read_folder, sha256_of

PACKAGE: Final = "equipoise_judge"
STANCE: Final = "stance"


def load_judge(
    spec: str,
    *,
    generator: str,
    detector: str,
    unsure_below: float = 0.0,
    threads: int | None = None,
    cache: Path | None = None,
) -> Judge:
    """The judge that `spec` names, for answers of one generator.

    Args:
        spec: "stance" for the stance model of the package `equipoise_judge`; the folder of a
            stance model; or inspect's names of models, such as "openai/gpt-5" or
            "openai/gpt-5,anthropic/claude-5", of which the next is asked where one fails. Those
            of the generator's family are left out of such a chain.
        generator: who wrote the answers, as `provider/name`.
        detector: who labelled the documents: a detector's name as results report it, or what
            `equipoise.stance.load_detector` takes.
        unsure_below: of a stance model, see `StanceJudge`.
        threads: of a stance model, >= 1.
        cache: of a stance model: an SQLite file that remembers what it said.

    Raises:
        InputError: there is no such judge; it has the detector's weights or a bundled detector's;
            it is the generator; or no model of the chain is left.
        MissingExtraError: the package of the stance model, or inspect-ai, is not installed.
        DetectorError: the stance model is damaged.
        GenerationError: a language model cannot be set up.

    Source: SP 4.1 leaves the current generator out of its fallback chain; leaving out its
    family is ours.
    """
    folder = _folder(spec)
    if folder is None:
        return _chain(spec, generator)
    from equipoise.lab.judge.stance import StanceJudge

    check_other_weights(folder, detector)
    return StanceJudge(folder, unsure_below=unsure_below, threads=threads, cache=cache)


def check_other_weights(folder: Path, detector: str) -> None:
    """Nothing, when the model in `folder` is neither the detector nor one that comes bundled.

    Compared by the weights themselves where they are here, so that a copy under another name, or
    with another temperature, is found; else by the digest in the detector's name. The same model
    at another precision is not found.

    Raises:
        InputError: it is one of them.
    """
    weights = _weights(folder)
    for name in bundled_names():
        if weights == _weights(BUNDLED / name):
            raise InputError(_refusal(f"the weights of the bundled detector {name!r}", folder))
    given = Path(detector).expanduser()
    if (given / "config.json").is_file() and weights == _weights(given):
        raise InputError(_refusal(f"the weights of the detector {detector!r}", folder))
    digest = re.search(r"@([0-9a-f]{12})(?=:|$)", detector)
    if digest and digest[1] == read_folder(folder).digest(("tokenizer.json",), ONNX_NAMES):
        raise InputError(_refusal(f"the files of the detector {detector!r}", folder))


def _refusal(what: str, folder: Path) -> str:
    return (
        f"a judge must be another model than the detector, and {folder} has {what}: it would "
        "share every mistake that it is to find"
    )


def _folder(spec: str) -> Path | None:
    """The folder of a stance model; None for a chain of language models."""
    if spec == STANCE:
        return _installed()
    if spec in ("classifier", *bundled_names()):
        raise InputError(
            f"a judge must be another model than a detector of this package, and {spec!r} is one. "
            f"Give {STANCE!r}, the folder of another stance model, or a language model"
        )
    path = Path(spec).expanduser()
    if spec.strip() and path.is_dir():
        return path
    if "/" not in spec or spec.startswith((".", "/", "~")):
        raise InputError(
            f"a judge must be {STANCE!r}, the folder of a stance model, or language models as "
            f"provider/name with commas between; got {spec!r}"
        )
    return None


def _installed() -> Path:
    try:
        package = import_module(PACKAGE)
    except ModuleNotFoundError as error:
        if error.name != PACKAGE:
            raise
        raise MissingExtraError(
            f"the judge {STANCE!r} is a package of its own, {PACKAGE}, which is not installed. "
            "Run: pip install ./judge  (in the repository of equipoise)",
            name=PACKAGE,
        ) from error
    return Path(package.folder())


def _weights(folder: Path) -> str:
    return sha256_of(read_folder(folder).file(*ONNX_NAMES))


def _chain(spec: str, generator: str) -> Judge:
    from equipoise.lab.judge.model import ModelJudge

    names = list(dict.fromkeys(name.strip() for name in spec.split(",") if name.strip()))
    own = family_of(generator)
    left_out = [name for name in names if name == generator or family_of(name) == own]
    if len(left_out) == len(names):
        raise InputError(
            f"a judge must be of another family than the generator: {generator!r} is of {own!r}, "
            f"and so is all of {', '.join(names)}. Add a model of another family"
        )
    return ModelJudge(names, left_out=left_out)
