import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.errors import DetectorError, InputError
from equipoise.stance import ClassifierDetector, load_detector
from equipoise.train.calibrate import Calibration
from equipoise.train.data import LABELS
from equipoise.train.encoder import Encoder, load_encoder
from equipoise.train.export import (
    FLOAT,
    INT8,
    Choices,
    export,
    write_config,
    write_model,
    write_sums,
)
from equipoise.train.float_detector import FloatDetector
from equipoise.train.recipe import Recipe
from equipoise.train.record import base_model, nearest_preset, read_record
from equipoise.train.run import train
from equipoise.train.to_onnx import export_float, open_trained
from equipoise.train.unquantize import read_back

KINDS = ["bert", "roberta", "mpnet", "deberta", "modernbert"]
MakeBase = Callable[[str], Path]
MakeTrained = Callable[[str], Encoder]


@pytest.fixture(scope="module")
def make_trained(make_base: MakeBase, tmp_path_factory: pytest.TempPathFactory) -> MakeTrained:
    """A function: a tiny encoder whose every weight is random, saved and opened for export."""
    made: dict[str, Encoder] = {}

    def make(kind: str) -> Encoder:
        import torch

        if kind not in made:
            encoder = load_encoder(make_base(kind))
            torch.manual_seed(5)
            with torch.no_grad():
                for weights in encoder.model.parameters():
                    weights.add_(torch.randn_like(weights) * 0.2)
            folder = tmp_path_factory.mktemp(f"trained-{kind}")
            encoder.save(folder)
            made[kind] = open_trained(folder)
        return made[kind]

    return make


MakeExported = Callable[[str], Path]


@pytest.fixture(scope="module")
def make_exported(
    make_trained: MakeTrained, tmp_path_factory: pytest.TempPathFactory
) -> MakeExported:
    """A function: the Hub folder of a tiny encoder, its float file too."""
    made: dict[str, Path] = {}

    def make(kind: str) -> Path:
        if kind not in made:
            folder = tmp_path_factory.mktemp(f"exported-{kind}")
            encoder = make_trained(kind)
            kinds = write_model(encoder, folder, float_too=True)
            assert kinds.dynamic > kinds.scaled >= 4  # two in each of two layers
            config = encoder.model.config
            write_config(config, folder, max_length=190, calibration=Calibration(1.5))
            write_sums(folder)
            made[kind] = folder
        return made[kind]

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_the_float_file_gives_what_torch_gives_for_any_batch_and_length(
    kind: str, make_trained: MakeTrained, tmp_path: Path
) -> None:
    import onnxruntime
    import torch

    encoder = make_trained(kind)
    export_float(encoder, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    names = [given.name for given in session.get_inputs()]
    assert ("token_type_ids" in names) == (kind == "bert")
    for batch, length in ((1, 5), (3, 17), (2, 64), (5, 190)):
        torch.manual_seed(batch)
        ids = torch.randint(4, encoder.model.config.vocab_size, (batch, length))
        mask = torch.ones_like(ids)
        mask[-1, length // 2 :] = 0 if batch > 1 else 1
        ids[mask == 0] = encoder.pad_id
        given = {"input_ids": ids, "attention_mask": mask}
        if encoder.segments:
            given["token_type_ids"] = (torch.arange(length) > length // 3).long().repeat(batch, 1)
        with torch.inference_mode():
            expected = encoder.model(**given).logits.numpy()
        found = session.run(None, {name: value.numpy() for name, value in given.items()})[0]
        assert found == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_int8_folder_is_a_detector_that_agrees_with_the_float_model(
    kind: str, make_trained: MakeTrained, make_exported: MakeExported
) -> None:
    question = "Should zoos stay?"
    texts = [f"number {at} is good or bad, who knows; it exists." for at in range(12)]
    real = FloatDetector(make_trained(kind), max_length=190).detect(question, texts)
    for one, two in zip(
        ClassifierDetector(make_exported(kind), temperature=1.0).detect(question, texts),
        real,
        strict=True,
    ):
        assert one.to_dict() == pytest.approx(two.to_dict(), abs=0.12)
    spread = {round(score.pro, 3) for score in real}
    assert len(spread) > 1  # the tiny model tells texts apart, so that agreement says something


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "deberta"])
def test_int8_weights_are_read_back_within_their_rounding(
    kind: str, make_trained: MakeTrained, make_exported: MakeExported
) -> None:
    found = read_back(make_exported(kind)).model.state_dict()
    expected = make_trained(kind).model.state_dict()
    assert found.keys() == expected.keys()
    for name, weights in expected.items():
        step = float(weights.abs().max()) / 60  # 7 bits with a sign
        assert float((found[name] - weights).abs().max()) <= step, name


def test_weights_that_the_graph_does_not_name_are_refused(make_exported: MakeExported) -> None:
    """DeBERTa's table of relative positions is cut to the right size in the graph."""
    with pytest.raises(InputError, match=r"lacks \['deberta\.encoder\.rel_embeddings"):
        read_back(make_exported("deberta"))


def test_settings_are_the_models_own(make_exported: MakeExported) -> None:
    config = json.loads((make_exported("roberta") / "config.json").read_text())
    assert config["architectures"] == ["RobertaForSequenceClassification"]
    assert config["id2label"] == {"0": "con", "1": "neutral", "2": "pro"}
    assert config["max_position_embeddings"] == 200
    assert config["equipoise"] == {"max_length": 190, "temperature": 1.5}


@pytest.mark.parametrize("name", [INT8, "tokenizer.json", "config.json"])
def test_a_damaged_file_is_refused(name: str, make_exported: MakeExported, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(make_exported("mpnet"), tmp_path / "model"))
    ClassifierDetector(folder).warm_up()
    content = bytearray((folder / name).read_bytes())
    content += b" "
    (folder / name).write_bytes(content)
    with pytest.raises(DetectorError, match="must have the SHA-256"):
        ClassifierDetector(folder).warm_up()


@pytest.fixture(scope="module")
def run(make_base: MakeBase, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained tiny run that holds out half of the topics."""
    recipe = Recipe(
        base=str(make_base("bert")),
        sources={"procon20": 30, "ibm_wiki_passages": 30, "ibm_argq30k": 12},
        off_topic=8,
        nli={"boolq": 12},
        learning_rate=1e-3,
        batch_tokens=512,
        max_length=80,
    )
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    train(data, recipe, folder, folds=2)
    return folder


@pytest.fixture(scope="module")
def exported(run: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    cases = tmp_path_factory.mktemp("cases") / "cases.jsonl"
    case = {"id": 1, "kind": "k", "question": "Should it stay?", "text": "good", "stance": "pro"}
    cases.write_text(json.dumps(case) + "\n")
    out = run.parent / "small"
    export(run, data, out, choices=Choices(cases=cases, base_model="owner/tiny", threads=1))
    return out


def test_a_run_becomes_a_folder_in_hub_layout(exported: Path) -> None:
    files = {str(path.relative_to(exported)) for path in exported.rglob("*") if path.is_file()}
    assert files == {"config.json", "tokenizer.json", INT8, "README.md", "SHA256SUMS"}
    assert not list(exported.parent.glob(".small-*"))
    detector = load_detector(exported, threads=1)
    assert len(detector.detect("Should topic-c stay?", ["good helps", "bad harms"])) == 2


def test_the_report_has_every_figure_and_the_card_shows_them(exported: Path, run: Path) -> None:
    report: dict[str, Any] = json.loads((run / "export.json").read_text())
    held = report["held_out"]
    assert held["paper_kind"]["n"] + 0 == sum(
        part["n"] if name == "procon20" else part["classes"]["neutral"]["n"]
        for name, part in held["sources"].items()
        if name in ("procon20", "ibm_wiki_passages")
    )
    assert held["all"]["n"] == sum(part["n"] for part in held["sources"].values())
    assert report["calibration"]["n"] > 0
    assert report["own_test"]["all"]["n"] == sum(
        part["n"] for part in report["own_test"]["kinds"].values()
    )
    assert report["own_test"]["opposites"]["n"] > 20
    assert report["target_aware"]["n"] == 1
    assert report["agreement"]["same_label"] > 0.8
    assert report["model"]["bytes"] == (exported / INT8).stat().st_size
    assert 0 < report["model"]["compressed_bytes"] < report["model"]["bytes"]
    card = (exported / "README.md").read_text()
    assert f"| all | {held['all']['n']} | {held['all']['accuracy']:.3f} |" in card
    assert "base_model: owner/tiny" in card
    assert str(run) not in card
    config = json.loads((exported / "config.json").read_text())
    assert config["equipoise"]["temperature"] == report["calibration"]["temperature"]
    assert config["equipoise"].get("bias") == report["calibration"].get("bias")


def test_the_rows_of_the_calibration_are_in_no_score(run: Path, data: Path) -> None:
    from equipoise.train.measure import halves

    held = read_record(run).held_rows(data)
    first, second = halves(held)
    assert len(first) + len(second) == len(held)
    assert not {row.question for row in first} & {row.question for row in second}


def test_the_command_exports_and_keeps_the_float_file_on_request_only(
    run: Path, data: Path, exported: Path
) -> None:
    out = run.parent / "both"
    options = ["--float", "--base-model", "owner/tiny", "--threads", "1", "--json", "--english"]
    command = ["export", str(run), "--data", str(data), "--out", str(out), *options]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert json.loads(done.stdout)["held_out"]["all"]["n"] > 20
    assert (out / FLOAT).is_file()
    assert FLOAT in (out / "SHA256SUMS").read_text()
    assert not (exported / FLOAT).exists()
    assert json.loads((out / "config.json").read_text())["equipoise"]["languages"] == ["en"]
    assert "languages" not in json.loads((exported / "config.json").read_text())["equipoise"]
    assert "--out both --english\n" in (out / "README.md").read_text()
    assert "Most texts in other languages are told" in (out / "README.md").read_text()


def test_data_that_the_run_did_not_hold_out_are_refused(
    run: Path, data: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(data, tmp_path / "data"))
    path = other / "stance/ibm_wiki_passages.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-9]))
    with pytest.raises(InputError, match="held out; it gives"):
        export(run, other, tmp_path / "out", choices=Choices(base_model="owner/tiny"))
    assert not (tmp_path / "out").exists()


def test_a_run_without_a_held_out_fold_is_refused(run: Path, data: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(run, tmp_path / "run"))
    settings = json.loads((other / "recipe.json").read_text())
    (other / "recipe.json").write_text(json.dumps({**settings, "fold": None}))
    with pytest.raises(InputError, match="must hold out a fold"):
        export(other, data, tmp_path / "out")


def test_a_run_from_bundled_weights_must_tell_what_came_before(
    run: Path, data: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(run, tmp_path / "run"))
    settings = json.loads((other / "recipe.json").read_text())
    settings["recipe"]["base"] = "default"
    (other / "recipe.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match="--history"):
        export(other, data, tmp_path / "out", choices=Choices(base_model="owner/tiny"))


def test_a_folder_that_is_no_run_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"recipe\.json"):
        export(tmp_path, data, tmp_path / "out")


@pytest.mark.parametrize("length", [0, 201])
def test_a_length_beyond_the_models_positions_is_refused(
    length: int, run: Path, data: Path, tmp_path: Path
) -> None:
    choices = Choices(max_length=length, base_model="owner/tiny")
    with pytest.raises(InputError, match="max_length must lie in"):
        export(run, data, tmp_path / "out", choices=choices)


@pytest.mark.parametrize(
    ("base", "given", "name"),
    [
        ("all-MiniLM-L6-v2", None, "sentence-transformers/all-MiniLM-L6-v2"),
        ("owner/model", None, "owner/model"),
        ("/some/folder", "owner/model", "owner/model"),
        ("default", None, "sentence-transformers/all-mpnet-base-v2"),
    ],
)
def test_the_first_encoder_is_named(base: str, given: str | None, name: str) -> None:
    assert base_model(base, given) == name


@pytest.mark.parametrize("base", ["/some/folder", "./folder", "unknown"])
def test_an_encoder_without_a_public_name_needs_one(base: str) -> None:
    with pytest.raises(InputError, match="--base-model"):
        base_model(base, None)


def test_the_preset_nearest_to_a_recipe_is_named_with_what_differs() -> None:
    from equipoise.train.recipe import preset

    recipe = replace(preset("small"), base="/here", epochs=2)
    assert nearest_preset(recipe) == {"name": "small", "changes": {"epochs": 2}}


def test_labels_are_in_the_order_of_the_outputs(make_exported: MakeExported) -> None:
    from equipoise.stance.folder import read_folder

    assert read_folder(make_exported("bert")).labels == LABELS
