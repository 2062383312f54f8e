"""Whole runs of tiny encoders: every kind trains; a stopped run ends where an unbroken one does."""

import json
from dataclasses import replace

import pytest

from equipoise.errors import InputError
from equipoise.stance import ClassifierDetector
from equipoise.train.encoder import freeze, load_encoder, set_dropout
from equipoise.train.fit import schedule
from equipoise.train.held import Split, judged_run
from equipoise.train.mixture import build
from equipoise.train.run import train
from equipoise.train.teach import taught

KINDS = ("bert", "roberta", "mpnet", "deberta", "modernbert")


class Stopped(Exception):
    """What a run is stopped with here."""


class Watch:
    """A watcher that remembers, and stops a stage at a step."""

    def __init__(self, stop=None):
        self.stop = stop
        self.mixture = None
        self.stages = []
        self.losses = []

    def rows(self, mixture):
        self.mixture = mixture

    def stage(self, stage):
        self.stages.append(stage)

    def step(self, done, total, loss):
        self.losses.append((self.stages[-1].name, loss))
        if (self.stages[-1].name, done) == self.stop:
            raise Stopped


def weights(folder):
    from safetensors.torch import load_file

    return {name: w.tolist() for name, w in load_file(folder / "model/model.safetensors").items()}


@pytest.mark.parametrize("kind", KINDS)
def test_any_encoder_trains_end_to_end(kind, data, recipe, make_base, tmp_path):
    recipe = replace(recipe, base=str(make_base(kind)), max_length=120, batch_tokens=2_000)
    mixture, judged = judged_run(data, recipe, tmp_path, split=Split(0, 3))
    assert [item.row for item in judged] == list(mixture.held)
    assert all(sum(item.probabilities) == pytest.approx(1) for item in judged)
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert len(rows["train"]) == len(mixture.train)
    assert load_encoder(tmp_path / "model").segments == (kind == "bert")


def test_training_lowers_the_loss(data, recipe, tmp_path):
    watch = Watch()
    changes = {"nli": {}, "opposites": 0.0, "off_topic": 0, "batch_rows": 8}
    recipe = replace(recipe, epochs=10, learning_rate=1e-2, **changes)
    _, judged = judged_run(data, recipe, tmp_path, split=Split(0, 3), watcher=watch)
    losses = [loss for stage, loss in watch.losses if stage == "stance"]
    assert losses[-1] < 0.6 * losses[0]
    assert sum(item.label == item.row.stance for item in judged) > 0.8 * len(judged)


@pytest.mark.parametrize("stop", [("stance", 20), ("stance", 40), ("warm-up", 20)], ids=str)
def test_a_stopped_run_goes_on_to_the_same_weights(stop, data, recipe, tmp_path):
    recipe = replace(recipe, sources={"procon20": 20}, nli={}, batch_rows=2, epochs=3)
    if stop[0] == "warm-up":
        recipe = replace(recipe, nli={"condaqa": 23}, batch_rows=1, epochs=1)
    recipe = replace(recipe, checkpoint_minutes=0.0)
    train(data, recipe, tmp_path / "whole", folds=3)
    with pytest.raises(Stopped):
        train(data, recipe, tmp_path / "broken", folds=3, watcher=Watch(stop))
    assert not (tmp_path / "broken/model").exists()
    train(data, recipe, tmp_path / "broken", folds=3)
    assert weights(tmp_path / "broken") == weights(tmp_path / "whole")
    log = tmp_path / "broken" / stop[0].replace("-", "_") / "log.jsonl"
    starts = [json.loads(line)["step"] for line in log.read_text().splitlines() if "event" in line]
    assert starts == [0, stop[1] - 1]  # the second part did not begin anew


def test_the_same_seed_gives_the_same_weights_and_another_does_not(data, recipe, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(data, replace(recipe, seed=seed, nli={}), tmp_path / name, folds=3)
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert weights(tmp_path / "a") != weights(tmp_path / "c")


def test_class_weights_change_what_is_learned(data, recipe, tmp_path):
    recipe = replace(recipe, nli={})
    train(data, recipe, tmp_path / "plain", folds=3)
    train(data, replace(recipe, class_weights=True), tmp_path / "weighed", folds=3)
    assert weights(tmp_path / "plain") != weights(tmp_path / "weighed")


def test_a_finished_run_is_read_and_not_run_again(data, recipe, tmp_path):
    first = judged_run(data, recipe, tmp_path, split=Split(1, 3))
    watch = Watch()
    assert judged_run(data, recipe, tmp_path, split=Split(1, 3), watcher=watch) == first
    assert watch.stages == []


def test_judged_rows_of_another_choice_are_judged_again(data, recipe, tmp_path):
    judged_run(data, recipe, tmp_path, split=Split(1, 3))
    watch = Watch()
    _, fewer = judged_run(data, recipe, tmp_path, split=Split(1, 3, 8), watcher=watch)
    assert len(fewer) == 8
    assert [stage.name for stage in watch.stages] == ["scoring"]


def test_a_folder_of_another_recipe_is_refused(data, recipe, tmp_path):
    recipe = replace(recipe, nli={})
    train(data, recipe, tmp_path, folds=3)
    with pytest.raises(InputError, match="the same recipe and fold"):
        train(data, replace(recipe, epochs=2), tmp_path, folds=3)
    with pytest.raises(InputError, match="the same recipe and fold"):
        train(data, recipe, tmp_path, fold=1, folds=3)


def test_a_warm_start_is_the_other_runs_warm_up(data, recipe, tmp_path):
    train(data, recipe, tmp_path / "first", folds=3)
    watch = Watch()
    start = tmp_path / "first"
    train(data, recipe, tmp_path / "second", fold=1, folds=3, warm_start=start, watcher=watch)
    assert [stage.name for stage in watch.stages] == ["stance"]
    same = "warm_up/model/model.safetensors"
    assert (start / same).read_bytes() == (tmp_path / "second" / same).read_bytes()
    with pytest.raises(InputError, match="whose warm-up is finished"):
        train(data, recipe, tmp_path / "third", warm_start=tmp_path / "nowhere")
    assert not (tmp_path / "third").exists()


def test_a_watcher_is_told_of_rows_stages_and_steps(data, recipe, tmp_path):
    watch = Watch()
    mixture = train(data, recipe, tmp_path, folds=3, watcher=watch)
    assert watch.mixture == mixture
    first, second = watch.stages
    assert (first.name, first.examples) == ("warm-up", 24)
    assert (second.name, second.examples) == ("stance", len(mixture.train))
    logged = (tmp_path / "stance/log.jsonl").read_text().splitlines()
    assert json.loads(logged[-1])["step"] == second.steps
    assert json.loads(logged[-1])["tokens"] == second.tokens


def test_layers_and_word_pieces_are_trimmed(data, recipe, tmp_path):
    recipe = replace(recipe, layers=1, min_count=2)
    train(data, recipe, tmp_path, folds=3)
    made, base = load_encoder(tmp_path / "model"), load_encoder(recipe.base)
    assert made.model.config.num_hidden_layers == 1
    assert made.tokenizer.get_vocab_size() < base.tokenizer.get_vocab_size()
    assert made.model.config.vocab_size == made.tokenizer.get_vocab_size()
    assert made.tokenizer.decode([made.pad_id], skip_special_tokens=False) == "[PAD]"


def test_frozen_layers_stay_as_they_are(data, recipe, tmp_path):
    import torch

    recipe = replace(recipe, frozen_layers=1, nli={})
    train(data, recipe, tmp_path, folds=3)
    made, base = load_encoder(tmp_path / "model").model, load_encoder(recipe.base).model
    before = base.base_model.state_dict()
    moved = {
        name
        for name, value in made.base_model.state_dict().items()
        if not torch.equal(value, before[name])
    }
    assert not [name for name in moved if name.startswith(("embeddings", "encoder.layer.0"))]
    assert [name for name in moved if name.startswith("encoder.layer.1")]


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("roberta", {"min_count": 2}, "only WordPiece can be trimmed"),
        ("bert", {"layers": 3}, r"layers must lie in 1\.\.2"),
        ("modernbert", {"layers": 1}, "modernbert keeps them elsewhere"),
        ("bert", {"frozen_layers": 5}, r"frozen_layers must lie in 0\.\.2"),
        ("bert", {"crossed": 4}, "they need a teacher"),
    ],
)
def test_what_an_encoder_cannot_do_is_named(
    kind, changes, message, data, recipe, make_base, tmp_path
):
    changes = {"base": str(make_base(kind)), "nli": {}, **changes}
    with pytest.raises(InputError, match=message):
        train(data, replace(recipe, **changes), tmp_path, folds=3)


def test_an_encoder_that_is_not_there_is_named(data, recipe, tmp_path):
    with pytest.raises(InputError, match="the encoder must be"):
        train(data, replace(recipe, base=str(tmp_path / "none")), tmp_path / "run", folds=3)


def test_freezing_more_layers_than_there_are_is_an_error(make_base):
    with pytest.raises(InputError, match="frozen_layers"):
        freeze(load_encoder(make_base("bert")).model, 9)


def test_the_learning_rate_goes_up_and_down_to_nothing():
    rates = [schedule(step, 100, 0.1) for step in range(101)]
    assert rates[10] == max(rates) == 1
    assert rates[100] == 0
    assert rates == sorted(rates[:11]) + sorted(rates[11:], reverse=True)


@pytest.mark.slow  # the bundled detector reads some pairs
def test_a_teacher_labels_each_pair_once_and_a_second_run_reads_the_same(data, recipe, tmp_path):
    rows = build(data, replace(recipe, crossed=3), folds=3).crossed
    path = tmp_path / "teacher.jsonl"
    first = taught("default", rows, path)
    lines = path.read_text()
    assert taught("default", rows, path) == first  # to the last digit: the digest depends on it
    assert path.read_text() == lines
    path.write_text(lines[:-30])  # a write cut short
    assert taught("default", rows, path) == first
    [score] = ClassifierDetector("default").detect(rows[0].question, [rows[0].text])
    assert first[0] == (score.con, score.neutral, score.pro)


@pytest.mark.slow
def test_a_run_with_a_teacher_learns_from_crossed_pairs_too(data, recipe, tmp_path):
    recipe = replace(
        recipe, teacher="default", crossed=4, nli={}, off_topic=0, sources={"procon20": 4}
    )
    watch = Watch()
    train(data, recipe, tmp_path, folds=3, watcher=watch)
    assert [(stage.name, stage.examples) for stage in watch.stages] == [
        ("teacher", 8),
        ("stance", 8),
    ]


@pytest.mark.slow
def test_a_teacher_without_a_share_is_asked_about_crossed_pairs_alone(data, recipe, tmp_path):
    recipe = replace(
        recipe,
        teacher="default",
        teacher_share=0.0,
        crossed=4,
        nli={},
        off_topic=0,
        sources={"procon20": 4},
    )
    watch = Watch()
    train(data, recipe, tmp_path, folds=3, watcher=watch)
    assert [(stage.name, stage.examples) for stage in watch.stages] == [
        ("teacher", 4),
        ("stance", 8),
    ]


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_dropout_is_set_in_every_layer_that_has_it(share, make_base):
    import torch

    for kind in ("bert", "mpnet"):
        model = load_encoder(make_base(kind)).model
        before = [part.p for part in model.modules() if isinstance(part, torch.nn.Dropout)]
        set_dropout(model, None)
        kept = [part.p for part in model.modules() if isinstance(part, torch.nn.Dropout)]
        assert kept == before
        assert share not in before
        set_dropout(model, share)
        now = [part.p for part in model.modules() if isinstance(part, torch.nn.Dropout)]
        assert now == [share] * len(before)
        assert len(now) > 3


def test_a_run_leaves_the_processors_arithmetic_as_it_was(data, recipe, tmp_path):
    train(data, replace(recipe, nli={}, off_topic=0, sources={"procon20": 4}), tmp_path, folds=3)
    tiny = float("5e-324")  # a denormal number, which the run itself counts as 0
    assert tiny * float("1") > 0
