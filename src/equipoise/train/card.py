"""The model card, written from a run's report so that no figure is copied by hand.

Long because it is one document, from its first line to its last.
"""

from importlib.metadata import version
from typing import Any

from equipoise.errors import InputError
from equipoise.stance.folder import bundled_names

LICENCES = {
    "procon20": "MIT",
    "ibm_wiki_passages": "CC BY-SA 3.0",
    "perspectrum_passages": "CC BY-SA 4.0",
    "perspectrum": "CC BY-SA 4.0",
    "ukp_room_for_debate": "Apache-2.0",
    "ukp_convarg1": "CC BY 4.0",
    "ibm_claim_stance": "CC BY-SA 3.0",
    "ibm_argkp2021": "CDLA-Sharing 1.0",
    "ibm_argq30k": "CC BY-SA 3.0",
    "pubmedqa": "MIT",
    "multinli_25k": "OANC and others, without fiction",
    "vitaminc_real": "CC BY-SA 3.0",
    "snli_counterfactual": "Apache-2.0 (built on SNLI, CC BY-SA 4.0)",
    "boolq": "CC BY-SA 3.0",
    "condaqa": "Apache-2.0 (passages of Wikipedia, CC BY-SA)",
    "fool_me_twice": "Apache-2.0 (evidence of Wikipedia, CC BY-SA)",
    "check_covid": "MIT (evidence of published abstracts)",
    "mnli_negation": "MIT (built on MultiNLI)",
    "snli_negation": "MIT (built on SNLI, CC BY-SA 4.0)",
    "vitaminc_synthetic": "CC BY-SA 3.0",
    "strategyqa": "MIT (evidence of Wikipedia, CC BY-SA)",
    "creak": "MIT",
    "own_train": "Apache-2.0, the project's own examples",
    "judge_answers": "CC BY-SA 3.0 (arguments of ibm_argq30k in words of our own; boolq)",
    "judge_reasons": "Apache-2.0 (our own words), beside passages of boolq (CC BY-SA 3.0)",
    "judge_sentences": "CC BY-SA 3.0 (ibm_argq30k)",
    "judge_checks": "CC BY-SA 3.0, Apache-2.0, MIT (vitaminc_real, condaqa, check_covid, pubmedqa)",
    "joined": "those of the sentences joined (perspectrum, ibm_*; CC BY-SA, CDLA-Sharing)",
    "off_topic": "CC BY-SA 3.0 and 4.0 (questions of the sources above beside other texts)",
    "crossed": "CC BY-SA 3.0 and 4.0 (questions of the sources above beside their texts)",
}
"""Every source a recipe may name; `off_topic` are pairs made from background texts."""

BASE_LICENCES = {
    "sentence-transformers/all-mpnet-base-v2": "Apache-2.0",
    "sentence-transformers/all-MiniLM-L6-v2": "Apache-2.0",
    "FacebookAI/roberta-large-mnli": "MIT",
}

CARD = """---
license: apache-2.0
language: en
base_model: {base_model}
pipeline_tag: text-classification
---
# {name}: a stance detector, int8 ONNX

Reads a question (or claim) and a passage, and gives the probabilities that the passage supports
YES (`pro`), supports NO (`con`), or takes no side (`neutral`).

| | |
| --- | --- |
{facts}

{history}## Commands

```
pip install 'equipoise[train]'
equipoise train {train} --data DATA --out RUN
equipoise export RUN --data DATA --out {name}{english}
```

{changes}`DATA` holds `stance/`, `nli/`, `background/` and `topic_groups.tsv`. Libraries: {versions}.

## Scores

On topics of which nothing was seen in training (fold {fold} of {folds}, whole topic groups; the
worked example about birth control pills is held out too), on questions that the calibration did not
see, through the int8 model as shipped:

{scores}

{paper}{wiki}Confusion over all rows above (rows: truth, columns: label):

{confusion}

## When it is unsure

Labels less probable than a threshold can be left out. Share of labels kept and accuracy of those:

{abstention}

## Calibration

{calibration}

## Turned round and tricky

{own}

{more}## int8 against float

{agreement}

## Data and licences

{licences}

The texts are not part of the package.

## Limits

- English.{languages} One fold of {folds} was measured, not all: the other folds may be easier or harder.
- Trained on debate texts: the kinds under "Turned round and tricky" with a low accuracy, and
  irony, are often labelled wrongly.
- A plainly negated question ("Should X not be legal?") is turned round by rule before the model reads
  it, so that pro and con swap exactly; other negations are left to the model.
- `neutral` means that the model sees no side taken, not that a text is fair or true.
"""


def card_text(report: dict[str, Any]) -> str:
    """The card of the model that `report` (of `export`) tells of, as Markdown.

    Raises:
        InputError: the licence of a source is not known.
    """
    training, held = report["training"], report["held_out"]
    history = report["history"]
    return CARD.format(
        name=report["name"],
        english=" --english" if report.get("english") else "",
        languages=_ENGLISH if report.get("english") else "",
        base_model=report["base_model"],
        facts=_facts(report),
        history=f"## What came before\n\n{history}\n\n" if history else "",
        train=_train_options(training),
        changes=_changes(training["preset"]["changes"]),
        versions=", ".join(f"{name} {version(name)}" for name in _LIBRARIES),
        fold=training["fold"] + 1,
        folds=training["folds"],
        scores=_scores(held),
        paper=_paper(held["paper_kind"]),
        wiki=_wiki(report["wiki"]),
        confusion=_confusion(held["all"]["confusion"]),
        abstention=_abstention(held["abstention"]),
        calibration=_calibration(report["calibration"], held),
        own=_own(report["own_test"]),
        more=_negated(report["negated_by_rule"]) + _target_aware(report["target_aware"]),
        agreement=_agreement(report["agreement"]),
        licences=_licences(training),
    )


_ENGLISH = " Most texts in other languages are told and not read."
_LIBRARIES = ("torch", "transformers", "onnxruntime")


def _facts(report: dict[str, Any]) -> str:
    training, model = report["training"], report["model"]
    recipe = training["recipe"]
    base = report["base_model"]
    start = f"`{base}` ({BASE_LICENCES.get(base, 'licence: see its card')})"
    if report["history"]:
        named = recipe["base"] in bundled_names()
        earlier = (
            f"the weights of the detector `{recipe['base']}` as an earlier version of this package "
            "bundled them, read back from int8"
            if named
            else "the weights of an earlier run (see below)"
        )
        start = f"{earlier}; they began from {start}"
    warm_up = f"warm-up on {training['warm_up_examples']:,} inference pairs, then "
    warm_up = warm_up if training["warm_up_examples"] else ""
    scaled = model["scaled_products"]
    kinds = f"dynamic, the inputs of {scaled} feed-forward products scaled token by token"
    rows = {
        "Starting weights": start,
        "Architecture": f"{model['model_type']}, {model['layers']} layers",
        "Vocabulary": f"{model['vocabulary']:,} pieces" + _trimmed(recipe),
        "Size": f"{model['bytes'] / 1e6:.1f} MB, {model['compressed_bytes'] / 1e6:.1f} MB "
        f"compressed; int8, {kinds if scaled else 'dynamic'}",
        "Input": f"`{model['pair']}`, {model['max_length']} tokens; longer passages are read in "
        "windows",
        "Training": f"{warm_up}{_times(recipe['epochs'])} over {training['examples']:,} rows; "
        f"learning rate {recipe['learning_rate']:g}, {_step(recipe)} a step, seed {recipe['seed']}"
        + _taught(recipe),
        "Time": f"{training['minutes']:.0f} minutes of computing ({training['device']})",
        "Package": f"equipoise {report['version']}",
    }
    return "\n".join(f"| {name} | {text} |" for name, text in rows.items())


def _times(epochs: int) -> str:
    return "one pass" if epochs == 1 else f"{epochs} passes"


def _step(recipe: dict[str, Any]) -> str:
    rows = recipe["batch_rows"]
    return f"{rows} rows" if rows else f"{recipe['batch_tokens']:,} padded tokens"


def _trimmed(recipe: dict[str, Any]) -> str:
    seen = recipe["min_count"]
    if not seen:
        return ""
    return f" (those seen {seen} times in the data; any other word is spelled from smaller pieces)"


def _taught(recipe: dict[str, Any]) -> str:
    if recipe["teacher"] is None:
        return ""
    return (
        f"; a teacher's probabilities count for {recipe['teacher_share']:.0%} beside the label, "
        f"and alone for {recipe['crossed']:,} further pairs"
    )


def _train_options(training: dict[str, Any]) -> str:
    base = training["recipe"]["base"]
    teacher = " --teacher TEACHER" if training["recipe"]["teacher"] is not None else ""
    return f"--preset {training['preset']['name']} --base {base}{teacher}"


def _changes(changes: dict[str, Any]) -> str:
    if not changes:
        return ""
    told = ", ".join(f"{name} {value!r}" for name, value in changes.items())
    return f"Knobs other than the preset's: {told}.\n\n"


def _scores(held: dict[str, Any]) -> str:
    named = {"**The paper's kind**": held["paper_kind"], **held["sources"], "all": held["all"]}
    rows = [_score(name, part) for name, part in named.items() if part]
    heads = ["held-out rows of", "n", "accuracy", "macro-F1"]
    return _table([*heads, "F1 pro", "F1 con", "F1 neutral", "ECE"], rows)


def _score(name: str, part: dict[str, Any]) -> list[str]:
    classes = part["classes"]
    return [
        name,
        str(part["n"]),
        f"{part['accuracy']:.3f}",
        f"{part['macro_f1']:.3f}",
        *(f"{classes[n]['f1']:.3f}" if n in classes else "-" for n in ("pro", "con", "neutral")),
        f"{part['ece']:.3f}",
    ]


def _paper(part: dict[str, Any] | None) -> str:
    if part is None:
        return ""
    neutral = part["classes"].get("neutral", {"n": 0})["n"]
    return (
        '"The paper\'s kind" is ProCon pro and con passages with encyclopedic neutral ones; there the '
        "paper reports a macro-F1 of 0.889 for a fine-tuned roberta-large of 355 million parameters "
        "(other data, so not a comparison under equal terms). Its neutral column rests on "
        f"{neutral} passages, as few topics of that source fall into one fold.\n\n"
    )


def _wiki(part: dict[str, Any] | None) -> str:
    if part is None:
        return ""
    return (
        f"On all {part['n']} held-out rows of ibm_wiki_passages, those of the calibration among "
        f"them: accuracy {part['accuracy']:.3f}, macro-F1 {part['macro_f1']:.3f}.\n\n"
    )


def _confusion(matrix: list[list[int]]) -> str:
    names = ("con", "neutral", "pro")
    rows = [[name, *map(str, line)] for name, line in zip(names, matrix, strict=True)]
    return _table(["", *names], rows)


def _abstention(curve: list[dict[str, Any]]) -> str:
    rows = [
        [
            f"{point['threshold']:.2f}",
            f"{point['kept']:.1%}",
            "-" if point["accuracy"] is None else f"{point['accuracy']:.3f}",
        ]
        for point in curve
    ]
    return _table(["least probability", "labels kept", "accuracy of the kept"], rows)


def _calibration(chosen: dict[str, Any], held: dict[str, Any]) -> str:
    losses = chosen["cross_fitted_loss"]
    told = "; ".join(f"{name} {loss:.4f}" for name, loss in losses.items())
    bias = chosen.get("bias")
    added = f", then add {bias} (con, neutral, pro)" if bias else ""
    return (
        f"Logits are divided by {chosen['temperature']}{added}. Two kinds were compared on "
        f"{chosen['n']} held-out rows that are in no score above, each fitted on one half of their "
        f"questions and judged on the other: mean negative log likelihood {told}. Kept: "
        f"{chosen['kept']}.\n\n"
        f"On the scored rows the loss went from {held['loss']['before']:.4f} to "
        f"{held['loss']['after']:.4f}, and the expected calibration error (ten bins) from "
        f"{held['ece']['before']:.3f} to {held['ece']['after']:.3f}."
    )


def _own(part: dict[str, Any]) -> str:
    pairs = part["opposites"]
    rows = [[k, str(v["n"]), f"{v['accuracy']:.3f}"] for k, v in part["kinds"].items()]
    rows.append(["all", str(part["all"]["n"]), f"{part['all']['accuracy']:.3f}"])
    return (
        "On the project's own test set (written for it, read by no run to learn):\n\n"
        f"{_table(['kind', 'n', 'accuracy'], rows)}\n\n"
        f"Of {pairs['n']} passages asked two opposite ways, {pairs['swapped']:.1%} get pro one way "
        f"and con the other, and {pairs['both_right']:.1%} are right both ways."
    )


def _negated(part: dict[str, Any]) -> str:
    if not part["n"]:
        return ""
    return (
        f'Of {part["n"]} held-out pairs that are labelled pro or con, asked again with "not" in the '
        f"question, {part['swapped']:.1%} swap.\n\n"
    )


def _target_aware(part: dict[str, Any] | None) -> str:
    if part is None:
        return ""
    return (
        f"On {part['n']} further hand-written examples in which tone and stance part ways (support by "
        "attacking the alternative, concessions, reported speech, ...): accuracy "
        f"{part['accuracy']:.2f}.\n\n"
    )


def _agreement(part: dict[str, Any]) -> str:
    return (
        f"On {part['n']} held-out pairs: {part['same_label']:.1%} the same label, mean difference of "
        f"a probability {part['mean_probability_gap']:.3f}, the largest "
        f"{part['largest_probability_gap']:.2f}."
    )


def _licences(training: dict[str, Any]) -> str:
    counts = {**training["recipe"]["nli"], **training["rows"]}
    rows = []
    for source, count in counts.items():
        if source not in LICENCES:
            raise InputError(f"card.LICENCES must name the licence of {source!r}")
        rows.append([source, LICENCES[source], f"{count:,}"])
    return _table(["source", "licence", "rows, at most"], rows, right=1)


def _table(heads: list[str], rows: list[list[str]], *, right: int | None = None) -> str:
    """A Markdown table; the last `right` columns (None: all but the first) are set to the right."""
    to_right = len(heads) - 1 if right is None else right
    rules = ["---"] * (len(heads) - to_right) + ["---:"] * to_right
    return "\n".join("| " + " | ".join(line) + " |" for line in [heads, rules, *rows])
