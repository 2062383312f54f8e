import subprocess
import sys
from pathlib import Path

import pytest

import equipoise.stance as stance
from equipoise.errors import InputError
from equipoise.stance import ClassifierDetector, RemoteDetector, ZeroShotDetector, load_detector
from equipoise.stance.folder import BUNDLED
from equipoise.testing import FakeDetector
from equipoise.types import StanceDetector


def test_a_detector_comes_back_as_it_is() -> None:
    detector = FakeDetector({})
    assert load_detector(detector) is detector


def test_a_folder_is_a_classifier(stance_folder: Path) -> None:
    for given in (stance_folder, str(stance_folder)):
        assert isinstance(load_detector(given, threads=1), ClassifierDetector)


def test_an_address_is_a_remote_detector() -> None:
    assert isinstance(load_detector("http://127.0.0.1:1", api_key="k"), RemoteDetector)


def test_a_prefix_makes_a_folder_a_zero_shot_detector(nli_folder: Path) -> None:
    assert isinstance(load_detector(f"zero_shot:{nli_folder}"), ZeroShotDetector)


def test_labels_reach_the_detector(make_folder: object) -> None:
    folder = make_folder(names=("LABEL_0", "LABEL_1", "LABEL_2"))  # type: ignore[operator]
    detector = load_detector(folder, labels=("con", "neutral", "pro"))
    assert detector.detect("Why?", ["good"])[0].label.value == "pro"


@pytest.mark.parametrize("name", ["default", "classifier"])
@pytest.mark.skipif(not (BUNDLED / "default").is_dir(), reason="no bundled model in this checkout")
def test_the_bundled_model_goes_by_two_names(name: str) -> None:
    assert load_detector(name).name == ClassifierDetector().name


@pytest.mark.parametrize("given", [None, 3, [], object()])
def test_anything_else_is_an_input_error(given: StanceDetector) -> None:
    with pytest.raises(InputError, match="a detector must have detect"):
        load_detector(given)


def test_every_public_name_is_there_and_sorted() -> None:
    assert stance.__all__ == sorted(stance.__all__)
    assert all(getattr(stance, name) is not None for name in stance.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = stance.nothing


def test_importing_the_stage_loads_the_standard_library_only() -> None:
    code = (
        "import sys, equipoise.stance, equipoise.stance.base, equipoise.testing; "
        "from equipoise.stance import *; "
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'torch', 'transformers'} "
        "; assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
