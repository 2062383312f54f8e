"""From a run's float weights to an int8 ONNX folder in Hub layout, calibrated, scored, with a card.

    OUT/config.json  tokenizer.json  onnx/model_quantized.onnx  README.md  SHA256SUMS

Half of the held-out questions choose and fit the calibration; the scores are those of the other
half. The folder is made beside OUT and takes its place file by file when all is done.
"""

import hashlib
import json
import shutil
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise import __version__
from equipoise._extras import require
from equipoise.errors import InputError
from equipoise.stance import ClassifierDetector
from equipoise.stance.folder import position_limit, read_folder
from equipoise.stance.runners import OnnxRunner, default_threads
from equipoise.train import measure
from equipoise.train.calibrate import Calibration
from equipoise.train.card import card_text
from equipoise.train.data import LABELS, Row, read_own
from equipoise.train.encoder import Encoder
from equipoise.train.float_detector import EncoderRunner
from equipoise.train.quantize import Quantized, feed_forward_shape, quantize
from equipoise.train.reading import Read, Reader
from equipoise.train.record import Record, base_model, missing_history, read_record
from equipoise.train.score import summary
from equipoise.train.to_onnx import export_float, open_trained

LENGTH = 192
INT8, FLOAT = "onnx/model_quantized.onnx", "onnx/model.onnx"
WIKI = "ibm_wiki_passages"
COMPARED = 250
"""Pairs at most on which int8 and float are compared."""
NEGATED = 400
"""Pairs at most that are asked again with "not"."""
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What a caller may choose.

    Attributes:
        max_length: tokens of a pair, >= 1; None takes 192, or what training read if that is more,
            within the model's positions.
        float_too: also keep the float32 file.
        cases: a file of further labelled cases (`id`, `kind`, `question`, `text`, `stance`).
        history: a Markdown file that tells how the weights came about that the run began from;
            needed where those are bundled ones.
        base_model: the hub id of the first encoder; None where the run tells it.
        threads: threads of one run of the model, >= 1; None takes the physical cores.
        english: the model and its vocabulary are for English alone: the detector then does not read
            texts in other languages (see `stance.language`).
    """

    max_length: int | None = None
    float_too: bool = False
    cases: Path | None = None
    history: Path | None = None
    base_model: str | None = None
    threads: int | None = None
    english: bool = False


def export(
    run: Path,
    data: Path,
    out: Path,
    *,
    choices: Choices | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write the folder `out` from the run in `run`; returns the report, also in `run/export.json`.

    Args:
        run: what `train.run.train` left.
        data: the data that the run was trained on.
        out: the folder to write; files of an older export are replaced.
        choices: see `Choices`.
        progress: told of rows read.

    Raises:
        InputError: the run is not whole, the data are others, or something must be given.
        DetectorError: the exported model fails.
        MissingExtraError: the extra `train` is not installed.
    """
    choices = choices or Choices()
    require("torch", extra="train")
    record = read_record(run)
    told = _told(record, choices)
    held = record.held_rows(data)
    encoder = open_trained(run / "model")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as scratch:
        folder = Path(scratch)
        kinds = write_model(encoder, folder, float_too=choices.float_too)
        length = _length(encoder, record, choices.max_length)
        write_config(encoder.model.config, folder, max_length=length)
        figures = _figures(encoder, folder, held, choices, length, progress)
        report = {
            "name": out.name,
            "version": __version__,
            **told,
            "english": choices.english,
            "training": record.to_dict(),
            "model": {**_sizes(folder / INT8, encoder, kinds), "max_length": length},
            **figures,
        }
        (folder / "README.md").write_text(card_text(report), encoding="utf-8")
        write_sums(folder)
        _replace(folder, out)
    (run / "export.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return report


def _told(record: Record, choices: Choices) -> dict[str, Any]:
    if choices.history is None and missing_history(record.recipe):
        raise InputError(
            f"the run went on from the bundled weights of {record.recipe.base!r}: name a Markdown "
            "file that tells how those were trained (--history FILE.md)"
        )
    history = None if choices.history is None else choices.history.read_text("utf-8").strip()
    return {
        "base_model": base_model(record.recipe.base, choices.base_model),
        "history": history,
    }


def write_model(encoder: Encoder, folder: Path, *, float_too: bool) -> Quantized:
    """Write tokenizer and int8 file (and the float one, where asked for) into `folder`."""
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    encoder.tokenizer.save(str(folder / "tokenizer.json"))
    export_float(encoder, folder / FLOAT)
    shape = feed_forward_shape(encoder.model.config)
    kinds = quantize(folder / FLOAT, folder / INT8, feed_forward=shape)
    if not float_too:
        (folder / FLOAT).unlink()
    return kinds


def write_config(
    config: Any,
    folder: Path,
    *,
    max_length: int,
    calibration: Calibration | None = None,
    english: bool = False,
) -> None:
    """Write `config.json`: the model's own settings, its labels, and what the detector reads."""
    unwanted = ("_name_or_path", "transformers_version", "dtype", "torch_dtype")
    own = {k: v for k, v in config.to_diff_dict().items() if k not in unwanted}
    names = ("num_hidden_layers", "hidden_size", "vocab_size", "pad_token_id")
    needed = {n: getattr(config, n, None) for n in (*names, "max_position_embeddings")}
    settings = {
        **own,
        "model_type": config.model_type,
        **needed,
        "id2label": {str(index): label for index, label in enumerate(LABELS)},
        "label2id": {label: index for index, label in enumerate(LABELS)},
        "equipoise": {
            "max_length": max_length,
            **({"languages": ["en"]} if english else {}),
            **(calibration or Calibration()).settings(),
        },
    }
    (folder / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def write_sums(folder: Path) -> None:
    """Write `SHA256SUMS` over settings, tokenizer and model files (not the card)."""
    names = [
        *("config.json", "tokenizer.json"),
        *(n for n in (INT8, FLOAT) if (folder / n).is_file()),
    ]
    sums = [f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def _length(encoder: Encoder, record: Record, given: int | None) -> int:
    config = encoder.model.config
    limit = position_limit(config.to_dict(), encoder.pad_id)
    wanted = max(LENGTH, record.recipe.max_length) if given is None else given
    if not 1 <= wanted <= limit and given is not None:
        raise InputError(f"max_length must lie in 1..{limit} for this model, got {given}")
    return min(wanted, limit)


def _figures(
    encoder: Encoder,
    folder: Path,
    held: Sequence[Row],
    choices: Choices,
    length: int,
    progress: Progress | None,
) -> dict[str, Any]:
    """Calibrate, write the final config.json, and score the model as shipped."""
    runner = OnnxRunner(folder / INT8, threads=choices.threads or default_threads())
    reader = Reader(read_folder(folder), encoder.pairs, runner)

    def read(stage: str, rows: Sequence[Row], by: Reader = reader) -> list[Read]:
        step = None if progress is None else lambda done, total: progress(stage, done, total)
        return by.read(rows, progress=step)

    fitting, testing = measure.halves(held)
    calibration, chosen = measure.calibrated(read("calibrating", fitting))
    write_config(
        encoder.model.config,
        folder,
        max_length=length,
        calibration=calibration,
        english=choices.english,
    )
    scored = read("scoring", testing)
    _check_shipped(folder, scored[:8], calibration)
    wiki = read("scoring", [row for row in held if row.source == WIKI])
    cases = [] if choices.cases is None else read("cases", read_cases(choices.cases))
    whole = [item for item in scored if len(item.logits) == 1 and not item.negated]
    compared = whole[:: -(-len(whole) // COMPARED) or 1]
    real = Reader(read_folder(folder), encoder.pairs, EncoderRunner(encoder))
    return {
        "calibration": chosen,
        "held_out": measure.held_out(scored, calibration),
        "wiki": measure.whole_source(wiki, WIKI, calibration),
        "own_test": measure.own_test(read("own test", read_own("test")), calibration),
        "negated_by_rule": measure.negation_swaps(
            scored[:NEGATED], calibration, lambda rows: read("negated", rows)
        ),
        "target_aware": summary([item.judged(calibration) for item in cases]) if cases else None,
        "agreement": measure.agreement(
            compared,
            read("comparing", [item.row for item in compared], real),
            calibration,
        ),
    }


def _check_shipped(folder: Path, reads: Sequence[Read], calibration: Calibration) -> None:
    """That the detector gives what the figures are made of."""
    detector = ClassifierDetector(folder)
    for item in reads:
        score = detector.detect(item.row.question, [item.row.text])[0]
        if score.windows == 0:  # not read: of another language
            continue
        given = (score.con, score.neutral, score.pro)
        expected = item.probabilities(calibration)
        assert all(abs(a - b) < 1e-4 for a, b in zip(given, expected, strict=True)), item.row.id


def read_cases(path: Path) -> list[Row]:
    """Cases as rows, the kind as topic.

    Raises:
        InputError: the file cannot be read or a line is not a case.
    """
    try:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return [
            Row(
                str(c["id"]),
                c["kind"],
                c["question"],
                c["question"],
                c["text"],
                c["stance"],
                "cases",
            )
            for c in lines
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} must be JSON Lines of labelled cases: {error!r}") from error


def _sizes(file: Path, encoder: Encoder, kinds: Quantized) -> dict[str, Any]:
    config = encoder.model.config
    packer, packed = zlib.compressobj(6), 0
    with file.open("rb") as content:
        while part := content.read(1 << 20):
            packed += len(packer.compress(part))
    return {
        "model_type": config.model_type,
        "layers": config.num_hidden_layers,
        "vocabulary": config.vocab_size,
        "bytes": file.stat().st_size,
        "compressed_bytes": packed + len(packer.flush()),
        "scaled_products": kinds.scaled,
        "dynamic_products": kinds.dynamic,
        "pair": " ".join(encoder.tokenizer.encode("question", "passage").tokens),
    }


def _replace(folder: Path, out: Path) -> None:
    """Move the files of `folder` into `out`; an old float file does not stay beside a new model."""
    (out / "onnx").mkdir(parents=True, exist_ok=True)
    (out / FLOAT).unlink(missing_ok=True)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        shutil.move(file, out / file.relative_to(folder))
