import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import DetectorError, InputError
from equipoise.stance import ClassifierDetector
from equipoise.stance.folder import ONNX_NAMES, bundled_names, find_folder, read_folder

MODEL = "onnx/model_quantized.onnx"


@pytest.fixture
def folder(stance_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(stance_folder, tmp_path / "model"))


def configure(folder: Path, **changes: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return folder


def write_sums(folder: Path, *names: str) -> None:
    lines = [f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (folder / "SHA256SUMS").write_text("".join(lines))


def test_a_path_is_taken_as_it_is(folder: Path) -> None:
    assert find_folder(folder) == find_folder(str(folder)) == folder


@pytest.mark.parametrize(
    "model", ["no-such-model", "./no/such/folder", "/no/such", "a/b/c", "", ".."]
)
def test_an_unknown_model_is_an_input_error_that_lists_what_is_bundled(model: str) -> None:
    if model in ("", ".."):  # a folder, but not a model's
        with pytest.raises(DetectorError, match=r"must have config\.json"):
            ClassifierDetector(model)
        return
    with pytest.raises(InputError, match="must be a bundled name"):
        ClassifierDetector(model)


@pytest.fixture
def root(stance_folder: Path, tmp_path: Path) -> Path:
    """A folder of bundled models: default, small, and one that is no model."""
    for name in ("small", "default"):
        shutil.copytree(stance_folder, tmp_path / "bundled" / name)
    (tmp_path / "bundled" / "notes").mkdir()
    return tmp_path / "bundled"


def test_each_bundled_model_goes_by_its_folders_name(root: Path) -> None:
    assert bundled_names(root) == ["default", "small"]
    for name in bundled_names(root):
        assert find_folder(name, root=root) == root / name
        assert ClassifierDetector(find_folder(name, root=root)).name.count(f":{name}@") == 1


def test_an_unknown_name_is_an_input_error_that_lists_every_bundled_model(root: Path) -> None:
    with pytest.raises(InputError, match=r"bundled name \(default, small\)"):
        find_folder("large", root=root)


def test_a_path_is_never_taken_for_a_bundled_name(root: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be a bundled name"):
        find_folder(Path("small"), root=root)
    (tmp_path / "small").mkdir()
    assert find_folder(tmp_path / "small", root=root) == tmp_path / "small"


def test_bundled_models_are_listed_by_their_cards(stance_folder: Path, tmp_path: Path) -> None:
    from equipoise.cli.models import bundled_rows

    for name in ("default", "small"):
        folder = shutil.copytree(stance_folder, tmp_path / "stance" / "models" / name)
        (Path(folder) / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    rows = bundled_rows(tmp_path)
    assert [(row.name, row.use, row.licence) for row in rows] == [
        ("default", "detector", "Apache-2.0"),
        ("small", "detector", "Apache-2.0"),
    ]


def test_settings_are_read_from_the_configuration(folder: Path) -> None:
    found = read_folder(configure(folder, equipoise={"max_length": 100, "temperature": 1.5}))
    assert found.labels == ("con", "neutral", "pro")
    assert (found.pad_id, found.max_length, found.temperature) == (1, 100, 1.5)
    assert found.position_limit == 512
    assert found.bias == ()


def test_a_bias_is_read_in_the_order_of_the_outputs(folder: Path) -> None:
    found = read_folder(configure(folder, equipoise={"bias": [0.5, -1, 0]}))
    assert found.bias == (0.5, -1.0, 0.0)


def test_the_bias_is_part_of_the_name(folder: Path) -> None:
    assert ":bias" not in ClassifierDetector(folder).name
    name = ClassifierDetector(configure(folder, equipoise={"bias": [0.5, -1, 0]})).name
    assert name.endswith(":temperature=1:bias=0.5,-1,0")


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"model_type": "bert", "max_position_embeddings": 128}, 128),
        ({"model_type": "roberta", "max_position_embeddings": 130, "pad_token_id": 1}, 128),
        ({"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "t5", "max_position_embeddings": None}, 512),
    ],
)
def test_without_a_setting_the_length_is_what_the_model_has_positions_for(
    folder: Path, changes: dict[str, Any], limit: int
) -> None:
    assert read_folder(configure(folder, equipoise={}, **changes)).max_length == limit


def test_the_tokenizer_may_set_a_smaller_length(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 77}))
    assert read_folder(configure(folder, equipoise={})).max_length == 77


@pytest.mark.parametrize(
    "changes",
    [
        {"equipoise": {"max_length": 513}},
        {"equipoise": {"max_length": 0}},
        {"equipoise": {"temperature": 0}},
        {"equipoise": {"temperature": "NaN"}},
        {"equipoise": {"temperature": "hot"}},
        {"equipoise": {"bias": [0.1, 0.2]}},
        {"equipoise": {"bias": [0.1, 0.2, float("nan")]}},
        {"equipoise": {"bias": [0.1, 0.2, float("inf")]}},
        {"equipoise": {"bias": [0.1, 0.2, 10**400]}},
        {"equipoise": {"bias": [0.1, 0.2, True]}},
        {"equipoise": {"bias": [0.1, 0.2, "0.3"]}},
        {"equipoise": {"bias": {"pro": 0.1}}},
        {"equipoise": {"bias": None}},
        {"equipoise": []},
        {"id2label": ["con"]},
        {"id2label": {"1": "con", "2": "pro"}},
    ],
)
def test_a_configuration_that_does_not_hold_is_a_detector_error(
    folder: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(DetectorError, match=r"config\.json"):
        ClassifierDetector(configure(folder, **changes))


@pytest.mark.parametrize("content", ["", "{", "[]", "\x80"])
def test_a_damaged_configuration_is_a_detector_error(folder: Path, content: str) -> None:
    (folder / "config.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(DetectorError, match=r"config\.json"):
        ClassifierDetector(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", MODEL])
def test_a_missing_file_is_a_detector_error_that_names_it(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(DetectorError, match=name.split("/")[-1]):
        ClassifierDetector(folder).warm_up()


@pytest.mark.parametrize("name", ["tokenizer.json", MODEL])
def test_a_file_that_is_no_model_is_a_detector_error_that_names_it(folder: Path, name: str) -> None:
    (folder / name).write_text("not what it should be")
    with pytest.raises(DetectorError, match=name.split("/")[-1]):
        ClassifierDetector(folder).warm_up()


def test_files_that_match_their_checksums_load(folder: Path) -> None:
    write_sums(folder, "tokenizer.json", MODEL, "config.json")
    ClassifierDetector(folder).warm_up()


@pytest.mark.parametrize("name", ["tokenizer.json", MODEL])
def test_a_file_that_was_changed_is_refused(folder: Path, name: str) -> None:
    write_sums(folder, "tokenizer.json", MODEL)
    with (folder / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(DetectorError, match="must have the SHA-256"):
        ClassifierDetector(folder).detect("Why?", ["x"])


def test_a_configuration_that_was_changed_is_refused(folder: Path) -> None:
    write_sums(folder, "tokenizer.json", MODEL, "config.json")
    with pytest.raises(DetectorError, match="must have the SHA-256"):
        ClassifierDetector(configure(folder, id2label={"0": "pro", "1": "neutral", "2": "con"}))


def test_a_file_that_the_checksums_do_not_list_is_refused(folder: Path) -> None:
    write_sums(folder, "tokenizer.json")
    with pytest.raises(DetectorError, match=f"must list {MODEL}"):
        ClassifierDetector(folder).warm_up()


def test_a_small_model_file_goes_before_a_large_one(folder: Path) -> None:
    shutil.copy(folder / MODEL, folder / "onnx/model.onnx")
    assert read_folder(folder).file(*ONNX_NAMES) == folder / MODEL
    (folder / MODEL).unlink()
    assert read_folder(folder).file(*ONNX_NAMES) == folder / "onnx/model.onnx"


@pytest.mark.parametrize("name", ["tokenizer.json", MODEL, "config.json"])
def test_the_name_changes_with_any_file_of_the_model(folder: Path, name: str) -> None:
    before = ClassifierDetector(folder).name
    with (folder / name).open("ab") as file:
        file.write(b" ")
    assert ClassifierDetector(folder).name != before


@pytest.fixture
def hub_cache(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub cache that holds owner/toy, and a hub library that is told to stay offline."""
    constants = pytest.importorskip("huggingface_hub.constants")
    cache = tmp_path / "hub"
    model = cache / "models--owner--toy"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text("abc123")
    shutil.copytree(folder, model / "snapshots" / "abc123")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return cache


def test_a_cached_hub_model_is_used_without_asking_the_hub(
    hub_cache: Path, no_sockets: Callable[[], None]
) -> None:
    """Public report 12."""
    no_sockets()
    detector = ClassifierDetector("owner/toy")
    assert detector.detect("Why?", ["good"])[0].label == "pro"


@pytest.mark.usefixtures("hub_cache")
def test_a_hub_model_that_cannot_be_fetched_is_a_detector_error() -> None:
    with pytest.raises(DetectorError, match="the hub must give the model 'owner/other'"):
        ClassifierDetector("owner/other")


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    import socket

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was tried")

    def switch_on() -> None:
        monkeypatch.setattr(socket.socket, "connect", refuse)

    return switch_on
