"""Reports whose numbers are worked out by hand, the baselines, and the float model as a detector."""

import random
from dataclasses import replace

import pytest

from equipoise.train.baselines import majority, text_only
from equipoise.train.cross import cross_validate
from equipoise.train.data import LABELS, Row
from equipoise.train.encoder import load_encoder
from equipoise.train.float_detector import FloatDetector, judge_rows
from equipoise.train.held import Split, kept
from equipoise.train.report import markdown, scored
from equipoise.train.score import Judged
from equipoise.types import StanceDetector

SURE = {"con": (0.8, 0.1, 0.1), "neutral": (0.1, 0.8, 0.1), "pro": (0.1, 0.1, 0.8)}


def row(at, stance, source="procon20", text=None):
    return Row(f"{at}", "t", f"Should {at}?", "c.", text or f"text {at}", stance, source)


def judged(at, truth, said, source="procon20"):
    return Judged(row(at, truth, source), SURE[said])


def toy():
    """Two folds: (truth, said) of procon20 and ibm_wiki_passages, and rows that stand apart."""
    first = [
        judged(1, "pro", "pro"),
        judged(2, "pro", "con"),
        judged(3, "con", "con"),
        judged(4, "neutral", "neutral", "ibm_wiki_passages"),
        judged(5, "con", "neutral", "ibm_wiki_passages"),
        judged("off-0", "neutral", "pro", "off_topic"),
    ]
    second = [
        judged(1, "pro", "con"),  # held out by both folds: counts once
        judged(6, "con", "con"),
        judged(7, "neutral", "pro", "ibm_wiki_passages"),
        judged("off-0", "neutral", "neutral", "off_topic"),  # another row of the same id
        judged(9, "pro", "con", "own_test"),
    ]
    return [first, second]


def test_pooled_numbers_are_those_worked_out_by_hand():
    scores = scored(toy())
    everything = scores["all"]
    # con: 3, 6 right, 5 missed, 2 wrongly said; neutral: 4 right, 7 missed, 5 wrongly said.
    assert everything["n"] == 7
    assert everything["accuracy"] == pytest.approx(4 / 7)
    assert everything["confusion"] == [[2, 1, 0], [0, 1, 1], [1, 0, 1]]
    con = everything["classes"]["con"]
    assert (con["n"], con["precision"], con["recall"]) == (
        3,
        pytest.approx(2 / 3),
        pytest.approx(2 / 3),
    )
    assert [everything["classes"][label]["f1"] for label in LABELS] == pytest.approx(
        [2 / 3, 1 / 2, 1 / 2]
    )
    assert everything["macro_f1"] == pytest.approx((2 / 3 + 1 / 2 + 1 / 2) / 3)
    # Every answer says 0.8: the error is its distance from the share that is right.
    assert everything["ece"] == pytest.approx(0.8 - 4 / 7)


def test_the_papers_kind_is_procon20_sides_and_wiki_neutrals():
    paper = scored(toy())["paper"]
    assert paper["confusion"] == [[2, 0, 0], [0, 1, 1], [1, 0, 1]]


def test_sources_stand_by_themselves_and_some_apart():
    sources = scored(toy())["sources"]
    assert {name: entry["n"] for name, entry in sources.items()} == {
        "procon20": 4,
        "ibm_wiki_passages": 3,
        "off_topic": 2,
        "own_test": 1,
    }
    assert sources["procon20"]["accuracy"] == pytest.approx(3 / 4)
    assert set(sources["procon20"]["classes"]) == {"con", "pro"}


def test_the_spread_over_folds_is_of_each_folds_macro_f1():
    spread = scored(toy())["folds"]["all"]
    # Fold 1: con P 1/2 R 1/2, neutral P 1/2 R 1, pro P 1 R 1/2. Fold 2: con right, neutral wrong.
    first = (1 / 2 + 2 / 3 + 2 / 3) / 3
    second = (1 + 0) / 2
    assert spread["each"] == pytest.approx([first, second])
    assert spread["mean"] == pytest.approx((first + second) / 2)
    assert spread["sd"] == pytest.approx(abs(first - second) / 2**0.5)
    assert (spread["min"], spread["max"]) == pytest.approx((second, first))


def test_a_part_without_rows_is_none():
    scores = scored([[judged(1, "pro", "pro", "perspectrum")]])
    assert scores["paper"] is None
    assert scores["folds"]["paper"] is None
    assert scored([[]])["all"] is None


def test_markdown_shows_models_side_by_side():
    scores = {"model": scored(toy()), "majority": scored(toy())}
    text = markdown({"title": "T", "notes": ["said"], "scores": scores})
    assert "| all sources | 7 | 0.556 | 0.556 | 0.571 | 0.571 | 0.229 | 0.229 |" in text
    assert "| con | model | 3 | 0.667 | 0.667 | 0.667 |" in text
    assert "| pro | 1 | 0 | 1 |" in text
    assert "## Macro-F1 over folds" in text
    assert text.startswith("# T\n\n- said\n")
    for block in text.split("\n\n"):
        if block.startswith("|"):
            assert len({line.count("|") for line in block.splitlines()}) == 1


def test_a_report_of_one_fold_has_no_spread():
    text = markdown({"title": "T", "notes": [], "scores": {"model": scored(toy()[:1])}})
    assert "over folds" not in text


def test_the_majority_says_the_training_rows_commonest_class():
    train = [row(1, "con"), row(2, "con"), row(3, "pro"), row(4, "neutral")]
    made = majority(train, [row(5, "pro"), row(6, "con")])
    assert [item.label for item in made] == ["con", "con"]
    assert made[0].probabilities == (0.5, 0.25, 0.25)


def texts(count, seed):
    rng = random.Random(seed)
    words = {"pro": "good helps", "con": "bad harms", "neutral": "exists dates"}
    return [
        row(f"{seed}-{at}", label := LABELS[at % 3], text=f"{words[label]} {rng.random()}")
        for at in range(count)
    ]


def test_text_only_learns_from_the_text():
    made = text_only(texts(30, 1), texts(12, 2), seed=1)
    assert [item.label for item in made] == [item.row.stance for item in made]
    assert all(sum(item.probabilities) == pytest.approx(1) for item in made)


def test_text_only_never_reads_the_question():
    train, test = texts(30, 1), texts(12, 2)

    def permuted(rows):
        questions = [r.question for r in rows]
        random.Random(3).shuffle(questions)
        return [replace(r, question=q, claim=q) for r, q in zip(rows, questions, strict=True)]

    plain = text_only(train, test, seed=1)
    mixed = text_only(permuted(train), permuted(test), seed=1)
    assert [item.probabilities for item in plain] == [item.probabilities for item in mixed]


def test_text_only_of_one_or_two_classes_gives_the_others_nothing():
    two = [r for r in texts(30, 1) if r.stance != "neutral"]
    assert {item.probabilities[1] for item in text_only(two, texts(6, 2), seed=1)} == {0.0}
    one = [r for r in two if r.stance == "pro"]
    assert text_only(one, texts(3, 2), seed=1)[0].probabilities == (0.0, 0.0, 1.0)
    assert text_only(two, [], seed=1) == []


def test_kept_rows_are_not_judged_twice_but_others_are(tmp_path):
    path = tmp_path / "judged.jsonl"
    rows = [row(1, "pro"), row(2, "con")]
    first = kept(path, rows, lambda: [Judged(r, (0.1, 0.2, 0.7)) for r in rows])
    assert kept(path, rows, list) == first
    assert kept(path, rows[:1], lambda: [Judged(rows[0], (0.7, 0.2, 0.1))])[0].label == "con"


# The float model as a detector


@pytest.fixture(scope="module")
def detector(make_base):
    import torch

    base = make_base("bert")
    torch.manual_seed(5)  # of the head
    return FloatDetector(load_encoder(base), max_length=64, batch_tokens=300)


def test_the_float_model_is_a_detector(detector):
    assert isinstance(detector, StanceDetector)
    assert detector.detect("Is it good?", []) == []
    [blank] = detector.detect("Is it good?", ["  "])
    assert blank.neutral == 1.0
    assert detector.name.startswith("float@")


def test_batches_do_not_change_a_score(detector):
    pairs = [(f"Is {at} good?", f"good {at} " * (at + 1)) for at in range(12)]
    together = detector.detect_pairs(pairs)
    for (question, text), score in zip(pairs, together, strict=True):
        [alone] = detector.detect(question, [text])
        assert (alone.pro, alone.con) == pytest.approx((score.pro, score.con), abs=1e-5)


def test_a_long_text_is_read_in_windows(detector):
    [score] = detector.detect("Is it good?", ["bad " * 300])
    assert score.windows > 4


def test_a_plain_negation_swaps_the_sides(detector):
    [plain] = detector.detect("Should it be legal?", ["good"])
    [negated] = detector.detect("Should it not be legal?", ["good"])
    assert negated == plain.swapped()


def test_scores_are_the_models_own(detector, make_base):
    import torch

    base = make_base("bert")
    torch.manual_seed(5)
    encoder = load_encoder(base)
    encoder.model.eval()
    made = encoder.tokenizer.encode("is it good?", "bad harms")
    with torch.inference_mode():
        logits = encoder.model(
            input_ids=torch.tensor([made.ids]), token_type_ids=torch.tensor([made.type_ids])
        ).logits
    con, neutral, pro = torch.softmax(logits[0], dim=0).tolist()
    [score] = detector.detect("Is it good?", ["bad harms"])
    assert (score.con, score.neutral, score.pro) == pytest.approx((con, neutral, pro), abs=1e-5)


def test_rows_are_judged_in_order(detector):
    rows = [row(at, "pro") for at in range(5)]
    told = []
    made = judge_rows(detector, rows, progress=lambda *step: told.append(step))
    assert [item.row for item in made] == rows
    assert told == [(5, 5, None)]


# Cross-validation


def test_cross_validation_judges_every_row_once_and_goes_on(data, recipe, tmp_path):
    recipe = replace(recipe, own=2, off_topic=6)
    report = cross_validate(data, recipe, tmp_path, split=Split(folds=3))
    assert report["recipe"]["own"] == 0
    assert any("own examples are left out" in note for note in report["notes"])
    for name in ("model", "text-only", "majority"):
        scores = report["scores"][name]
        assert scores["all"]["n"] == 13 * (6 + 5 + 4)
        assert scores["sources"]["procon20"]["n"] == 13 * 6
        assert scores["folds"]["all"]["n"] == 3
    assert (tmp_path / "report.md").read_text() == markdown(report)
    # The warm-up is shared, and finished folds are not run again.
    warm = [tmp_path / f"fold-{k}/warm_up/model/model.safetensors" for k in range(3)]
    assert len({path.read_bytes() for path in warm}) == 1
    before = (tmp_path / "fold-0/stance/log.jsonl").read_text()
    (tmp_path / "fold-2/judged.jsonl").unlink()
    assert (
        cross_validate(data, recipe, tmp_path, split=Split(folds=3))["scores"] == report["scores"]
    )
    assert (tmp_path / "fold-0/stance/log.jsonl").read_text() == before
    assert not list(tmp_path.glob("fold-*/stance/checkpoint.pt"))


def test_a_bundled_start_is_said_to_have_seen_the_rows():
    from equipoise.train.cross import _cross_notes
    from equipoise.train.recipe import preset

    notes = _cross_notes(preset("continue"), Split())
    assert any("scores of folds that it has seen are too high" in note for note in notes)
    assert not any("too high" in note for note in _cross_notes(preset("paper"), Split()))
