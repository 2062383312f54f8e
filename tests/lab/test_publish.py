"""The public copy of a run: every number, no words of others, and tables that still come out."""

import gzip
import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.answers.publish import MANIFEST, WORDS, check_wordless, publish
from equipoise.lab.answers.store import ANSWERS, VERDICTS, Judged, read_cells
from equipoise.lab.results import ResultFile, run_id

from .toy_answers import A, C, answer, judge, said, verdict, write, write_verdicts

SENTENCE = "the zoo keeps rare animals safe for many coming years"
LONG = "biasdef_quota: biasdef(pool axis, depth 20, gaussian(floor 0.3), cut(smallest 3, most 0.5))"


@pytest.fixture
def run(tmp_path):
    """Two cells; every place that may hold words of others holds some."""
    first, last = said(A), said(C, detector="default@1")
    rows = [
        answer(first, "zoos-1", SENTENCE, detail=f"cut: {SENTENCE}"),
        answer(first, "zoos-2", None, outcome="error", error=f"GenerationError: {SENTENCE}"),
        answer(last, "zoos-1", SENTENCE),
        answer(last, "taxes-1", None, outcome="error", error=SENTENCE),
    ]
    folder = tmp_path / "run"
    write(folder, (first, rows[:2]), (last, rows[2:]))
    verdicts = [
        verdict(judge(), rows[0], "pro", detail=SENTENCE),
        verdict(judge(), rows[2], None, "unparsed", detail=SENTENCE),
    ]
    write_verdicts(folder, (judge(), verdicts))
    (folder / "cache").mkdir()
    (folder / "cache" / "labels.sqlite").write_text(SENTENCE)
    (folder / "notes.txt").write_text(SENTENCE)
    (folder / "latency.json").write_text(json.dumps({"machine": {"cpu": "a b c d e f g h i"}}))
    return folder


def outcomes(folder):
    return [
        {q: (cell.outcome(q), cell.value(q)) for q in sorted(cell.answers)}
        for cell in read_cells(folder)
    ]


def test_the_copy_has_every_number_and_no_words(run, tmp_path):
    copy = tmp_path / "copy"
    publish(run, copy)
    for path in copy.rglob("*"):
        if path.is_file():
            assert SENTENCE not in path.read_bytes().decode("utf-8")
    assert outcomes(copy) == outcomes(run)
    assert outcomes(copy)[0]["zoos-1"] == (Judged.SCORED, 1.0)
    for cell, other in zip(read_cells(copy), read_cells(run), strict=True):
        assert cell.settings == other.settings
        for question, row in cell.answers.items():
            kept = {k: v for k, v in other.answers[question].items() if k not in ("text", "detail")}
            assert {**row, "error": None} == {**kept, "error": None}


def test_only_results_are_copied(run, tmp_path):
    copy = tmp_path / "copy"
    publish(run, copy)
    assert {path.name for path in copy.iterdir()} == {
        ANSWERS,
        VERDICTS,
        "latency.json",
        MANIFEST,
    }


def test_of_an_error_its_class_stays_so_that_it_still_counts_as_one(run, tmp_path):
    publish(run, tmp_path / "copy")
    first, last = read_cells(tmp_path / "copy")
    assert first.answers["zoos-2"]["error"] == "GenerationError"
    assert last.answers["taxes-1"]["error"] == "error"


def test_the_manifest_has_digests_counts_and_versions(run, tmp_path):
    copy = tmp_path / "copy"
    done = publish(run, copy)
    manifest = json.loads((copy / MANIFEST).read_text("utf-8"))
    for name, about in manifest["files"].items():
        data = (copy / name).read_bytes()
        assert about["sha256"] == hashlib.sha256(data).hexdigest()
        assert about["bytes"] == len(data)
    assert manifest["files"][ANSWERS]["lines"] == done.files[ANSWERS] == 6
    assert [cell["outcomes"] for cell in manifest["cells"]] == [
        {"error": 1, "scored": 1},
        {"error": 1, "unparsed": 1},
    ]
    assert manifest["cells"][1]["defence"] == "quota_prompt"
    assert manifest["versions"]["python"]


def test_the_same_run_gives_the_same_bytes_and_an_older_copy_is_replaced(run, tmp_path):
    copy = tmp_path / "copy"
    publish(run, copy, large=1)
    packed = {path.name: path.read_bytes() for path in copy.iterdir()}
    publish(run, copy, large=1)
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == packed
    assert f"{ANSWERS}.gz" in packed
    publish(run, copy)
    assert not (copy / f"{ANSWERS}.gz").exists()
    assert outcomes(copy) == outcomes(run)


def test_large_files_are_packed_and_read_all_the_same(run, tmp_path):
    copy = tmp_path / "copy"
    publish(run, copy, large=1)
    assert not (copy / ANSWERS).exists()
    assert b"zoos-1" in gzip.decompress((copy / f"{ANSWERS}.gz").read_bytes())
    assert outcomes(copy) == outcomes(run)
    publish(copy, tmp_path / "again")  # a copy of a copy
    assert outcomes(tmp_path / "again") == outcomes(run)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"note": SENTENCE}, "note"),
        ({"evidence": [{"label": "pro", "why": SENTENCE}]}, r"evidence\[0\].why"),
        ({SENTENCE: 1}, "a name in"),
    ],
)
def test_words_that_are_left_stop_it_before_a_file_is_written(run, tmp_path, change, place):
    settings = said(A)
    row = {**answer(settings, "taxes-1", "short"), **change}
    ResultFile(run / ANSWERS).append([row])
    with pytest.raises(
        InputError, match=rf"answers.jsonl.*{place}|{place}.*answers.jsonl"
    ) as error:
        publish(run, tmp_path / "copy")
    assert SENTENCE not in str(error.value)
    assert not (tmp_path / "copy").exists()


def test_words_in_settings_and_objects_stop_it_too(run, tmp_path):
    settings = said(A, prompt=SENTENCE)
    ResultFile(run / ANSWERS).append([{"run": run_id(settings), "settings": settings}])
    with pytest.raises(InputError, match="settings.prompt"):
        publish(run, tmp_path / "copy")


def test_words_in_an_object_file_stop_it(run, tmp_path):
    (run / "properties.json").write_text(json.dumps({"rows": [{"nearest": SENTENCE}]}))
    with pytest.raises(InputError, match=r"properties.json.rows\[0\].nearest"):
        publish(run, tmp_path / "copy")


def test_long_names_of_defences_are_ours(tmp_path):
    settings = said(LONG)
    write(tmp_path / "run", (settings, [answer(settings, "zoos-1", SENTENCE)]))
    publish(tmp_path / "run", tmp_path / "copy")
    assert read_cells(tmp_path / "copy")[0].settings["defence"] == LONG


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=3), min_size=1, max_size=12))
def test_the_guard_lets_seven_words_through_and_not_eight(words):
    value = {"rows": [{"deep": [{"x": " ".join(words)}]}]}
    if len(words) < WORDS:
        check_wordless(value, "file")
    else:
        with pytest.raises(InputError, match="8 words or more"):
            check_wordless(value, "file")


def test_choices_and_shifts_go_along(run, tmp_path):
    for name in ("choices/results.jsonl", "shift.jsonl", "quality.jsonl"):
        settings = {"of": name}
        line = {"key": "k", "run": run_id(settings), "question": "zoos-1"}
        ResultFile(run / name).append([{"run": run_id(settings), "settings": settings}, line])
    done = publish(run, tmp_path / "copy")
    assert done.files["choices/results.jsonl"] == 2
    assert (tmp_path / "copy" / "choices" / "results.jsonl").exists()
    assert (tmp_path / "copy" / "quality.jsonl").exists()


def test_a_run_is_never_written_over_and_other_folders_are_left_alone(run, tmp_path):
    with pytest.raises(InputError, match="another folder"):
        publish(run, run)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="other files"):
        publish(run, other)
    with pytest.raises(InputError, match=r"answers.jsonl"):
        publish(tmp_path / "nothing", tmp_path / "copy")
