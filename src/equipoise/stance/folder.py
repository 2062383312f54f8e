"""A model's folder in hub layout: found, checked against its checksums, its settings read.

    config.json   tokenizer.json   onnx/model_quantized.onnx (or another)   SHA256SUMS (optional)

Standard library only. Source: ours.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from equipoise._extras import require
from equipoise.errors import DetectorError, InputError
from equipoise.stance.base import check_count

BUNDLED = Path(__file__).parent / "models"
ONNX_NAMES = (
    "onnx/model_quantized.onnx",
    "onnx/model_int8.onnx",
    "onnx/model.onnx",
    "model_quantized.onnx",
    "model.onnx",
)
"""Files looked for, the first one there is taken: small ones first."""
SAFETENSORS = ("*.safetensors",)
_HUB_ID = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@([\w.-]+))?$")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][\w-]*$")
_LONGEST = 512


def find_folder(
    model: str | Path, *, weights: Sequence[str] = ONNX_NAMES, root: Path = BUNDLED
) -> Path:
    """The folder of a bundled name ("default"), a path, or a hub id ("owner/name[@revision]").

    A bundled name goes before a folder of that name. A hub id that is in the local cache is taken
    from there without asking the hub. `weights` are patterns, in order of preference, of the one
    set of files that is fetched beside the settings. `root` is where the bundled folders lie.

    Raises:
        InputError: there is no such bundled model and no such folder.
        DetectorError: the hub did not give it.
        MissingExtraError: a hub id without the extra `hub`.
    """
    name = str(model)
    bundled = root / name
    if isinstance(model, str) and _PLAIN_NAME.match(name) and bundled.is_dir():
        return bundled
    path = Path(model).expanduser()
    if path.is_dir():
        return path
    hub_id = _HUB_ID.match(name) if isinstance(model, str) else None
    if hub_id:
        return _from_hub(hub_id[1], revision=hub_id[2], weights=weights)
    known = ", ".join(bundled_names(root)) or "none"
    raise InputError(
        f"a model must be a bundled name ({known}), a folder, or a hub id of the form "
        f"owner/name; got {name!r}, which is none of them"
    )


def bundled_names(root: Path = BUNDLED) -> list[str]:
    """Names of the detectors that come with the package, sorted."""
    return sorted(config.parent.name for config in root.glob("*/config.json"))


def _from_hub(name: str, *, revision: str | None, weights: Sequence[str]) -> Path:
    hub = require("huggingface_hub", extra="hub")
    missing = require("huggingface_hub.errors", extra="hub").LocalEntryNotFoundError
    try:
        cached = Path(hub.snapshot_download(name, revision=revision, local_files_only=True))
        if any(next(cached.glob(pattern), None) for pattern in weights):
            return cached
    except missing:
        pass  # not in the cache: the hub is asked below
    try:
        files = hub.list_repo_files(name, revision=revision)
        wanted = [*_SETTINGS, *_first_set(files, weights)]
        return Path(hub.snapshot_download(name, revision=revision, allow_patterns=wanted))
    except Exception as error:  # network, rights, quota: each library version has its own classes
        raise DetectorError(
            f"the hub must give the model {name!r}; it answered {type(error).__name__}. Check the "
            "id and the network, or download the folder and give its path"
        ) from error


_SETTINGS = ("config.json", "tokenizer*.json", "special_tokens_map.json", "vocab*", "*.model")


def _first_set(files: Sequence[str], weights: Sequence[str]) -> list[str]:
    """The files of the first pattern that any file matches, with ONNX's external data."""
    for pattern in weights:
        found = [f for f in files if fnmatch(f, pattern) or f.startswith(f"{pattern}_data")]
        if found:
            return [*found, "SHA256SUMS"]
    raise InputError(f"the model must have one of {', '.join(weights)}; it has {', '.join(files)}")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """What is known about a model before any of it is loaded.

    `labels` are the output names in order. `max_length` counts tokens of question and document
    together with special tokens. `position_limit` is the most that the model can read.
    `temperature` > 0 divides the logits; then `bias`, one number an output in the order of
    `labels`, is added to them (none where it is empty). `languages` are codes such as "en"; of a
    model of English alone, texts in other languages are not read. Empty where nobody said.
    """

    path: Path
    labels: tuple[str, ...]
    pad_id: int
    max_length: int
    position_limit: int
    temperature: float
    bias: tuple[float, ...] = ()
    languages: tuple[str, ...] = ()

    def file(self, *names: str) -> Path:
        """The first of `names` that is there.

        Raises:
            DetectorError: none is, or its SHA-256 is not the one in SHA256SUMS.
        """
        for name in names:
            if (self.path / name).is_file():
                # ONNX may keep large weights in a file of their own.
                for part in (name, f"{name}_data", f"{name}.data"):
                    if (self.path / part).is_file():
                        _verify(self.path, part)
                return self.path / name
        raise DetectorError(f"the model folder {self.path} must have {' or '.join(names)}")

    def digest(self, *names: Sequence[str]) -> str:
        """Twelve hexadecimal digits that tell config.json and the files in use apart from others.

        Each of `names` is a list of names of which the first that is there counts.
        """
        files = [self.path / "config.json", *(self.file(*choice) for choice in names)]
        digests = "".join(sha256_of(path) for path in files)
        return hashlib.sha256(digests.encode()).hexdigest()[:12]

    def length(self, max_length: int | None) -> int:
        """The tokens of a pair: `max_length`, or where it is None what the model says.

        Raises:
            InputError: it is not an int from 1 to the most that the model can read.
        """
        if max_length is None:
            return self.max_length
        check_count("max_length", max_length)
        if max_length > self.position_limit:
            raise InputError(
                f"max_length must be at most {self.position_limit}, the model's own limit; got "
                f"{max_length}"
            )
        return max_length


def _verify(folder: Path, name: str, *, must_list: bool = True) -> None:
    """Nothing, when the file's SHA-256 is as SHA256SUMS says, or there is no SHA256SUMS."""
    sums = folder / "SHA256SUMS"
    if not sums.is_file():
        return
    lines = re.findall(r"^([0-9A-Fa-f]{64}) [ *](?:\./)?(.+)$", sums.read_text("utf-8"), re.M)
    expected = {listed: digest.lower() for digest, listed in lines}
    if name not in expected:
        if must_list:
            raise DetectorError(f"{sums} must list {name}, and does not: fetch the model again")
    elif (found := sha256_of(folder / name)) != expected[name]:
        raise DetectorError(
            f"{folder / name} must have the SHA-256 {expected[name]}, got {found}: the file is "
            "damaged or changed; fetch the model again"
        )


def read_folder(path: Path) -> ModelFolder:
    """The settings of the model in `path`.

    Raises:
        DetectorError: config.json is missing, damaged, not as SHA256SUMS says, or lacks what is
            needed.
    """
    config = _read_json(path / "config.json")
    _verify(path, "config.json", must_list=False)
    tokenizer = _read_json(path / "tokenizer_config.json", optional=True)
    ours = config.get("equipoise", {})
    try:
        id2label = {int(key): str(value) for key, value in config.get("id2label", {}).items()}
        labels = tuple(id2label[index] for index in range(len(id2label)))
        pad_id = int(config.get("pad_token_id") or 0)
        limit = position_limit(config, pad_id)
        said = min(int(tokenizer.get("model_max_length") or _LONGEST), _LONGEST, limit)
        max_length = int(ours.get("max_length", said))
        temperature = float(ours.get("temperature", 1.0))
        bias = ours.get("bias", [])
        languages = ours.get("languages", [])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DetectorError(
            f"{path / 'config.json'} has a value of a wrong kind: {error!r}"
        ) from error
    if not (0 < temperature < float("inf")) or not 0 < max_length <= limit:
        raise DetectorError(
            f"{path / 'config.json'} must have temperature > 0 and 0 < max_length <= {limit}, got "
            f"{temperature} and {max_length}"
        )
    if "bias" in ours and not _is_bias(bias, len(labels)):
        raise DetectorError(
            f"{path / 'config.json'} must have a bias of {len(labels)} finite numbers, one an "
            f"output in the order of id2label, or none; got {bias!r}"
        )
    if not isinstance(languages, list) or not all(isinstance(one, str) for one in languages):
        raise DetectorError(
            f"{path / 'config.json'} must have languages as a list of codes, or none; got "
            f"{languages!r}"
        )
    offsets = tuple(float(value) for value in bias)
    return ModelFolder(
        path, labels, pad_id, max_length, limit, temperature, offsets, tuple(languages)
    )


def _is_bias(value: Any, outputs: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == outputs
        and all(type(number) in (int, float) and abs(number) < 1e6 for number in value)
    )


def position_limit(config: dict[str, Any], pad_id: int) -> int:
    """The most tokens the model has positions for, from its config.json."""
    positions = int(config.get("max_position_embeddings") or 0)
    # RoBERTa and its kin count positions from pad_id + 1, so that many are never used.
    offset = pad_id + 1 if config.get("model_type") in _OFFSET_MODELS else 0
    return positions - offset if positions > 0 else 1_000_000


_OFFSET_MODELS = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})


def _read_json(path: Path, *, optional: bool = False) -> dict[str, Any]:
    if optional and not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise DetectorError(
            f"a model folder must have {path.name}; {path.parent} has none"
        ) from error
    except (OSError, ValueError) as error:
        raise DetectorError(f"{path} must be a JSON file that can be read: {error}") from error
    if not isinstance(found, dict):
        raise DetectorError(f"{path} must hold a JSON object, got {type(found).__name__}")
    return found


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal; memory does not grow with its size.

    Raises:
        DetectorError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DetectorError(f"{path} must be readable: {error}") from error
