import json

import pytest

from equipoise.errors import InputError
from equipoise.lab.pack import Document, Origin, Pack, Topic, write_pack
from equipoise.lab.poison.folder import read_poisoned, write_poisoned
from equipoise.lab.poison.stance import poison
from equipoise.types import Stance


def a_pack(text="held", name="toy"):
    documents = [
        Document("g", "genuine", Origin.GENUINE, "one", "t", Stance.PRO),
        Document("i1", f"{text} 1 é\u2028", Origin.INJECTED, "two", "t", Stance.PRO),
        Document("i2", f"{text} 2", Origin.INJECTED, "three", "t", Stance.PRO),
    ]
    return Pack(name, (Topic("t", "g", "T"), Topic("bare", "g", "B")), (), tuple(documents))


@pytest.fixture
def folder(tmp_path):
    write_poisoned(
        poison(a_pack(), Stance.PRO, n=2), a_pack(), tmp_path / "out", command="equipoise ..."
    )
    return tmp_path / "out"


def changed(folder, **parts):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | parts))


def test_what_was_written_comes_back(folder):
    assert read_poisoned(folder, a_pack()) == poison(a_pack(), Stance.PRO, n=2)


def test_the_manifest_says_what_was_done_and_what_it_is_for(folder):
    said = json.loads((folder / "manifest.json").read_text())
    assert (said["attack"], said["direction"], said["n"]) == ("stance", "pro", 2)
    assert said["pack"]["name"] == "toy"
    assert said["mean_share"] == 2 / 3
    assert said["shares"] == {
        "t": {"genuine": 1, "planted": 2, "share": 2 / 3},
        "bare": {"genuine": 0, "planted": 0, "share": None},
    }
    assert said["short"] == ["bare"]
    assert said["sources"] == {"two": 1, "three": 1}
    assert sorted(said["ids"]) == ["i1", "i2"]
    assert said["command"] == "equipoise ..."
    assert "testing" in said["for"]


def test_another_attack_may_take_the_place_of_an_older_one(folder):
    write_poisoned(poison(a_pack(), Stance.PRO, n=1), a_pack(), folder)
    assert len(read_poisoned(folder, a_pack()).documents) == 1


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="new, empty"):
        write_poisoned(poison(a_pack(), Stance.PRO, n=1), a_pack(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_pack_is_not_overwritten(tmp_path):
    write_pack(a_pack(), tmp_path)
    with pytest.raises(InputError, match="new, empty"):
        write_poisoned(poison(a_pack(), Stance.PRO, n=1), a_pack(), tmp_path)


def test_another_pack_is_refused(folder):
    with pytest.raises(InputError, match="made from the pack 'toy'"):
        read_poisoned(folder, a_pack(name="other"))


def test_another_version_of_the_pack_is_refused_with_the_file_that_differs(folder):
    with pytest.raises(InputError, match=r"another version of 'toy': documents.jsonl"):
        read_poisoned(folder, a_pack(text="new"))


def test_a_changed_document_is_found(folder):
    path = folder / "planted.jsonl"
    path.write_text(path.read_text("utf-8").replace("held 2", "held 3"), "utf-8")
    with pytest.raises(InputError, match="not the file"):
        read_poisoned(folder, a_pack())


def test_a_changed_share_is_found(folder):
    changed(
        folder, shares={"t": {"genuine": 9, "planted": 2}, "bare": {"genuine": 0, "planted": 0}}
    )
    with pytest.raises(InputError, match="shares"):
        read_poisoned(folder, a_pack())


def test_changed_ids_are_found(folder):
    changed(folder, ids=["i1"])
    with pytest.raises(InputError, match="ids"):
        read_poisoned(folder, a_pack())


def test_a_document_that_bears_an_id_of_the_pack_must_be_that_document(tmp_path):
    other = Document("i1", "something else", Origin.INJECTED, "two", "t", Stance.PRO)
    write_poisoned(poison(a_pack(), Stance.PRO, n=1, documents=[other]), a_pack(), tmp_path / "o")
    with pytest.raises(InputError, match="'i1'"):
        read_poisoned(tmp_path / "o", a_pack())


@pytest.mark.parametrize("parts", [{"format": 2}, {"format": None}])
def test_another_format_is_refused(folder, parts):
    changed(folder, **parts)
    with pytest.raises(InputError, match="format 1"):
        read_poisoned(folder, a_pack())


@pytest.mark.parametrize("part", ["pack", "shares", "direction", "n", "checksums", "ids", "about"])
def test_a_missing_part_is_an_error_of_ours(folder, part):
    path = folder / "manifest.json"
    said = json.loads(path.read_text())
    del said[part]
    path.write_text(json.dumps(said))
    with pytest.raises(InputError):
        read_poisoned(folder, a_pack())


def test_a_pack_is_no_poisoned_corpus(tmp_path):
    write_pack(a_pack(), tmp_path)
    with pytest.raises(InputError, match="is it a pack"):
        read_poisoned(tmp_path, a_pack())


@pytest.mark.parametrize("parts", [{"direction": "up"}, {"n": "two"}, {"shares": [1]}, {"pack": 3}])
def test_a_part_of_another_kind_is_an_error_of_ours(folder, parts):
    changed(folder, **parts)
    with pytest.raises(InputError):
        read_poisoned(folder, a_pack())
