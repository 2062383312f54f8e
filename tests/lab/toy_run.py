"""Runs with known effects, written as the run engine writes them, for tables and reports to read."""

import json

import numpy as np

from equipoise.lab.answers.store import ANSWERS, VERDICTS, verdict_key
from equipoise.lab.results import row_key, run_id

FULL = {
    "none": "none: relevance(5)",
    "quota": "quota: 2+2+1, pool 20, depth 50",
    "quota_prompt": "quota_prompt: 2+2+1, pool 20, depth 50 + instruction",
    "prompt_only": "prompt_only: relevance(5) + instruction",
    "random5": "random5: random(5 of 20, seed 20260909)",
    "mmr": "mmr: mmr(5 of 20, weight 0.5)",
    "biasdef_quota": "biasdef_quota: biasdef, quota",
}
JUDGE = {"format": 1, "judge": "toy-judge", "family": "toy", "code": "1"}


def settings(corpus="clean", defence="none", **more):
    """Settings of a cell; corpus is clean, or ATTACK-SIDE-N such as stance-pro-3."""
    attack, planted = {}, 0
    if corpus != "clean":
        kind, side, n = corpus.split("-")
        share = int(n) / (12 + int(n))
        attack = {"attack": kind, "direction": side, "n": int(n), "seed": 1, "mean_share": share}
        planted = 12 * int(n)
    return {
        "format": 1,
        "pack": "toy",
        "pack_checksum": "c0ffee",
        "labels": "toy-detector@1",
        "embedder": "words",
        "depth": 50,
        "corpus": corpus,
        "planted": planted,
        "planted_checksum": "beef",
        "attack": attack,
        "defence": FULL.get(defence, defence),
        "generator": "toy/model-135M",
        "generator_settings": {"max_tokens": 160},
        "family": "toy",
        "template": "compact",
        "code": "1",
        **more,
    }


def part(label="pro", truth="pro", planted=False):
    return {"label": label, "truth": truth, "planted": planted}


BALANCED = [part(s, s) for s in ("pro", "pro", "con", "con", "neutral")]


def answer(said, question, topic, evidence=None, outcome="answered", **more):
    """One row of answers.jsonl; its group is the topic."""
    run = run_id(said)
    evidence = BALANCED if evidence is None else evidence
    return {
        "key": row_key(run, question),
        "run": run,
        "question": question,
        "topic": topic,
        "group": topic,
        "outcome": outcome,
        "text": f"An answer to {question}.",
        "sha": "0",
        "words": 4,
        "prompt_sha": "1",
        "chosen": [f"{topic}-{number}" for number in range(len(evidence))],
        "evidence": evidence,
        "planted": sum(each["planted"] for each in evidence),
        "latency_ms": 1.0,
        "input_tokens": 10,
        "output_tokens": 5,
        "detail": "",
        **more,
    }


def verdict(row, stance, judge=JUDGE, outcome="scored"):
    run = run_id(judge)
    return {
        "key": verdict_key(run, row["key"]),
        "run": run,
        "question": row["question"],
        "answer": row["key"],
        "outcome": outcome,
        "stance": stance,
        "probabilities": None,
        "detail": "",
    }


def write_run(folder, cells, judge=JUDGE):
    """`cells`: (settings, [(row, stance or Judged outcome or None for not judged), ...])."""
    folder.mkdir(parents=True, exist_ok=True)
    answers, verdicts = [], [{"run": run_id(judge), "settings": judge}]
    for said, rows in cells:
        answers.append({"run": run_id(said), "settings": said})
        for row, stance in rows:
            answers.append(row)
            if stance in ("pro", "neutral", "con"):
                verdicts.append(verdict(row, stance, judge))
            elif stance is not None:
                verdicts.append(verdict(row, None, judge, stance))
    for name, lines in ((ANSWERS, answers), (VERDICTS, verdicts)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return folder


def drawn_cell(said, lean, rng, topics=12, each=5, evidence=None, broken=0):
    """Answers whose mean stance is `lean` or so; the first `broken` questions are refused."""
    rows = []
    for topic in range(topics):
        shift = rng.normal(0, 0.15)
        for number in range(each):
            name = f"t{topic:02}-q{number}"
            chance = np.clip(0.5 + (lean + shift) / 2, 0.02, 0.98)
            stance = (
                "neutral" if rng.random() < 0.2 else ("pro" if rng.random() < chance else "con")
            )
            refused = topic * each + number < broken
            row = answer(
                said,
                name,
                f"t{topic:02}",
                evidence(topic, number) if evidence else None,
                "refused" if refused else "answered",
            )
            rows.append((row, None if refused else stance))
    return said, rows


LEANS = {
    "none": 0.6,
    "quota": 0.15,
    "quota_prompt": 0.0,
    "prompt_only": 0.5,
    "random5": 0.5,
    "mmr": 0.2,
    "biasdef_quota": 0.1,
}


def full_run(folder, *, seed=1, sizes=(2, 3), attacks=("stance", "ebi"), topics=12, **more):
    """Every corpus under every defence, with leans that grow with the size of the attack."""
    rng = np.random.default_rng(seed)
    corpora = [
        "clean",
        *(f"{a}-{side}-{n}" for a in attacks for side in ("pro", "con") for n in sizes),
    ]
    cells = []
    for corpus in corpora:
        sign = {"pro": 1.0, "con": -1.0}.get(corpus.split("-")[1] if "-" in corpus else "", 0.0)
        size = float(corpus.split("-")[2]) / max(sizes) if sign else 0.0
        for defence, lean in LEANS.items():
            said = settings(corpus, defence, **more)
            evidence = None if defence in ("quota", "quota_prompt") else one_sided(sign)
            evidence = evidence or wrong_every_third
            cells.append(
                drawn_cell(
                    said,
                    sign * size * lean,
                    rng,
                    topics,
                    evidence=evidence,
                    broken=2 if defence == "none" else 0,
                )
            )
    return write_run(folder, cells)


def one_sided(sign):
    side = "pro" if sign >= 0 else "con"
    return lambda topic, number: (
        [part(None, side, planted=sign != 0)] * 3 + [part(None, "neutral")] * 2
    )


def wrong_every_third(topic, number):
    if topic == 3 and number < 2:  # no neutral document: three pro
        return [part("pro"), part("pro"), part("pro"), part("con", "con"), part("con", "con")]
    if number % 3:
        return BALANCED
    return [*BALANCED[:3], part("con", "pro", planted=True), BALANCED[4]]
