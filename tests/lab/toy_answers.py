"""A run on the toy pack, its answers written by hand; nothing is retrieved and nothing generated."""

import hashlib

from equipoise.lab.answers.store import ANSWERS, VERDICTS, verdict_key
from equipoise.lab.poison.planted import pack_checksums
from equipoise.lab.results import ResultFile, row_key, run_id

from .toy_world import toy_pack

A, C = "none: relevance(5)", "quota_prompt: 2+2+1, pool 20, depth 50, gate always, copies kept"
CHOSEN = {
    "zoos-1": ["zoo-pro-1", "zoo-con-1"],
    "zoos-2": ["zoo-pro-1", "zoo-neutral"],
    "taxes-1": ["tax-pro-1", "tax-pro-2"],
}
TOPICS = {"zoos-1": "zoos", "zoos-2": "zoos", "taxes-1": "taxes"}


def said(defence=A, corpus="clean", pack=None, **further):
    pack = pack or toy_pack()
    attack = {"attack": "stance", "direction": "pro", "n": 3, "seed": 1, "mean_share": 0.3}
    return {
        "format": 1,
        "pack": pack.name,
        "pack_checksum": run_id(pack_checksums(pack)),
        "labels": "oracle",
        "embedder": "words",
        "depth": 50,
        "corpus": corpus,
        "planted": 0 if corpus == "clean" else 3,
        "attack": {} if corpus == "clean" else attack,
        "defence": defence,
        "generator": "hf/toy-1",
        "template": "toy-1",
        **further,
    }


def answer(settings, question, text="zoo zoo good", outcome="answered", **further):
    """A row of answers; `text` None is an answer without words."""
    pack = toy_pack()
    truth = {d.id: d.stance and d.stance.value for d in pack.documents}
    chosen = CHOSEN[question]
    return {
        "key": row_key(run_id(settings), question),
        "run": run_id(settings),
        "question": question,
        "topic": TOPICS[question],
        "group": {"zoos": "animals", "taxes": "money"}[TOPICS[question]],
        "outcome": outcome,
        "text": text or "",
        "sha": hashlib.sha256((text or "").encode()).hexdigest(),
        "words": len((text or "").split()),
        "chosen": chosen,
        "evidence": [{"label": truth[d], "truth": truth[d], "planted": False} for d in chosen],
        "planted": 0,
        "detail": "",
        **further,
    }


def verdict(judge, row, stance="pro", outcome="scored", **further):
    return {
        "key": verdict_key(run_id(judge), row["key"]),
        "run": run_id(judge),
        "question": row["question"],
        "answer": row["key"],
        "outcome": outcome,
        "stance": stance,
        "probabilities": None,
        "detail": "",
        **further,
    }


def write(folder, *runs, name=ANSWERS):
    """Lines of runs: (settings, rows)."""
    file = ResultFile(folder / name)
    for settings, rows in runs:
        file.append([{"run": run_id(settings), "settings": settings}, *rows])
    return folder


def judge(name="toy-judge", **further):
    return {"format": 1, "judge": name, "family": "toys", "code": "1", **further}


def write_verdicts(folder, *runs):
    return write(folder, *runs, name=VERDICTS)


def toy_answers(folder, texts=None):
    """Clean A and C for every question; `texts` is (setting, question) -> text."""
    texts = texts or {}
    runs = []
    for letter, defence in (("A", A), ("C", C)):
        settings = said(defence)
        rows = [
            answer(settings, q, texts.get((letter, q), f"{letter} says zoo about {q}."))
            for q in TOPICS
        ]
        runs.append((settings, rows))
    return write(folder, *runs)
