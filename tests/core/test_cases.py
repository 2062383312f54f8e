"""Failures that users of rerankers and classifiers reported in public, tried on the whole product.

The number in each name is that of the case in ../shared/cases/public_reports.jsonl. Cases that one
part settles alone have their tests beside that part (6 and 9 in tests/stance).
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from equipoise import Balancer, Candidate, InputError, Stance
from equipoise.data import contested, facts
from equipoise.retrieval import MemoryRetriever, load_embedder
from equipoise.stance import ClassifierDetector

ODD = [
    "\ud800 lone",
    "nul \x00 byte",
    "\u202eright to left",
    "\N{FAMILY} emoji",
    "zero\u200bwidth",
    "e\u0301",
]


@pytest.fixture(scope="session")
def detector():
    return ClassifierDetector()


@pytest.fixture(scope="session")
def balancer(detector):
    return Balancer(detector=detector)


@pytest.fixture(scope="session")
def topic():
    return contested()[0]


@pytest.mark.parametrize("n", [0, 1, 6])
def test_case_1_more_places_than_documents_gives_all_there_are(balancer, topic, n):
    selection = balancer.balance(topic.question, topic.documents[:n], k=10)
    assert len(selection.chosen) == n
    assert [s.found for s in selection.shortfalls if s.stance is None] == [n]


@pytest.mark.parametrize("documents", [[], [""], ["   "], None])
def test_case_2_empty_in_is_empty_out(balancer, topic, documents):
    selection = balancer.balance(topic.question, documents)
    assert selection.chosen == ()
    assert selection.labelled == 0
    assert len(selection.blank) == len(documents or [])


def test_case_3_metadata_and_ids_survive(balancer, topic):
    metadata = {"a": {"b": [1, {"c": None}]}, "d": "x"}
    given = [
        {"id": f"id-{i}", "text": d.text, "metadata": metadata}
        for i, d in enumerate(topic.documents)
    ]
    before = json.dumps(given)
    selection = balancer.balance(topic.question, given)
    assert all(item in given for item in selection.items)
    assert all(choice.candidate.metadata == metadata for choice in selection.chosen)
    assert json.dumps(given) == before


def test_case_4_every_number_is_a_plain_one(balancer, topic):
    documents = [
        {"text": d.text, "score": np.float32(0.5), "n": np.int64(3), "v": np.ones(2)}
        for d in topic.documents
    ]
    data = balancer.balance(topic.question, documents).to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    scores = balancer.detector.detect(topic.question, [d.text for d in topic.documents[:3]])
    assert all(type(s.pro) is type(s.con) is type(s.neutral) is float for s in scores)
    assert all(type(s.windows) is int for s in scores)


def test_case_5_a_score_that_is_not_a_number_gives_no_advantage(balancer, topic):
    texts = [d.text for d in topic.documents]
    plain = balancer.balance(topic.question, texts)
    odd = balancer.balance(
        topic.question,
        [{"text": t, "score": float("nan") if i == 3 else 0.1} for i, t in enumerate(texts)],
    )
    assert [c.retrieval_rank for c in odd.chosen] == [c.retrieval_rank for c in plain.chosen]
    assert odd.unscored == (4,)


@pytest.mark.slow
def test_case_7_a_stance_in_the_last_tenth_of_a_long_document_is_found(detector):
    neutral = next(f.document.text for f in facts() if "reactor" not in f.document.text.casefold())
    question = contested()[-1].question
    sides = [d.text for d in contested()[-1].documents if d.metadata["stance"] == "con"]
    alone = [
        d for d, s in zip(sides, detector.detect(question, sides), strict=True) if s.con > 0.8
    ][:6]
    assert alone, "the model must know at least one short text of this side"
    long = (neutral + " ") * (90_000 // len(neutral)) + " ".join(alone * 20)[:10_000]
    (score,) = detector.detect(question, [long])
    assert score.windows > 10
    assert score.label is Stance.CON


def test_case_10_five_copies_take_one_seat_and_are_named(balancer, topic):
    text = topic.documents[0].text
    near = text.replace(text.split()[10], "moreover")
    documents = [text, text.upper(), " ".join(text.split()), text + " ", near]
    documents += [d.text for d in topic.documents[1:]]
    selection = balancer.balance(topic.question, documents)
    assert sum(choice.retrieval_rank <= 5 for choice in selection.chosen) <= 1
    assert {rank for merged in selection.merged for rank in merged.dropped} == {2, 3, 4, 5}


def test_case_11_odd_text_gives_valid_json_and_stable_labels(balancer, topic):
    texts = [d.text for d in topic.documents[:6]] + ODD
    selection = balancer.balance(topic.question + " \ud800\u200b", texts)
    json.loads(selection.to_json())
    selection.to_html().encode("utf-8")
    selection.prompt().encode("utf-8")
    first = topic.documents[0].text
    plain, marked = balancer.detector.detect(topic.question, [first, first.replace(" ", " \u200b")])
    assert plain == marked


def test_case_12_the_command_line_works_with_sockets_blocked(tmp_path):
    guard = (
        "import sys,socket\nreal=socket.socket\nclass Blocked(real):\n"
        "    def connect(self,*a): sys.exit('a connection was tried')\n"
        "    connect_ex=connect\nsocket.socket=Blocked\n"
        "socket.create_connection=lambda *a,**k: sys.exit('a connection was tried')\n"
    )
    (tmp_path / "sitecustomize.py").write_text(guard)
    (tmp_path / "docs.jsonl").write_text(
        "\n".join(json.dumps({"id": d.id, "text": d.text}) for d in contested()[0].documents[:12])
    )
    environment = os.environ | {
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path),
    }

    def run(*arguments):
        code = "from equipoise.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    question = contested()[0].question
    run("--help")
    run("version")
    run("models", "list")
    run("index", "docs.jsonl", "-o", "index")
    assert "Setting C" in run("ask", question, "--index", "index", "--model", "none")
    assert run("label", question, "-c", "docs.jsonl").count("\n") == 12
    assert (
        json.loads(run("balance", question, "-c", "docs.jsonl", "--json"))["question"] == question
    )
    assert "Setting A" in run("demo", "--model", "none")
    # ONNX Runtime's own telemetry would open sockets that Python does not see, and leave this.
    assert not [path for path in tmp_path.rglob("*") if "onnxruntime" in path.name.casefold()]


@pytest.mark.parametrize(
    ("question", "negated"),
    [
        ("Should voting be compulsory?", "Should voting not be compulsory?"),
        ("Is voting at 16 a good idea?", "Is voting at 16 not a good idea?"),
    ],
)
def test_case_15_negating_the_question_swaps_pro_and_con(detector, question, negated):
    texts = [
        d.text for t in contested() for d in t.documents[::9] if t.name.startswith(("comp", "vot"))
    ]
    plain, turned = detector.detect(question, texts), detector.detect(negated, texts)
    assert turned == [score.swapped() for score in plain]
    assert {score.label for score in plain} >= {Stance.PRO, Stance.CON}


@pytest.mark.slow
def test_case_16_questions_of_fact_lose_at_most_one_point_of_recall(balancer):
    documents = [fact.document for fact in facts()] + [d for t in contested() for d in t.clean()]
    retriever = MemoryRetriever(documents, load_embedder("minilm"))
    plain = balanced = 0
    for fact in facts():
        found = retriever.retrieve(fact.question, 50)
        plain += fact.document.id in [d.id for d in found[:5]]
        chosen = balancer.balance(fact.question, found).chosen
        balanced += fact.document.id in [c.candidate.id for c in chosen]
    assert plain >= 0.9 * len(facts())
    assert balanced >= plain - 0.01 * len(facts())


def test_case_17_a_question_longer_than_the_model_is_a_clear_error(balancer, topic):
    question = "Should " + "very " * 2_000 + "long questions be allowed?"
    with pytest.raises(InputError, match="question must have at most"):
        balancer.balance(question, [d.text for d in topic.documents[:3]])
    assert isinstance(topic.documents[0], Candidate)
