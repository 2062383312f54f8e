import gzip
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from equipoise import data
from equipoise.cli.lab_pack import pack as pack_command
from equipoise.errors import InputError, StoreError
from equipoise.lab.about import shares
from equipoise.lab.background import drawn
from equipoise.lab.beir import beir_folder, read_corpus, read_qrels, read_queries
from equipoise.lab.embedded import embedded_pack
from equipoise.lab.pack import (
    Document,
    Origin,
    Pack,
    Question,
    Topic,
    document_of,
    read_pack,
    write_pack,
)
from equipoise.lab.packing import make_pack
from equipoise.lab.questions import read_questions
from equipoise.types import Stance

TOY = Pack(
    "toy",
    (Topic("tea", "drinks", "Tea"),),
    (Question("tea-1", "tea", "Should we drink tea?"),),
    (
        Document("p", "Tea wakes people.", Origin.GENUINE, "own", "tea", Stance.PRO),
        Document("c", "Tea stains teeth.", Origin.INJECTED, "own", "tea", Stance.CON),
        Document("n", "Tea is a leaf\u2028— 茶.", Origin.NEUTRAL, "own", "tea", Stance.NEUTRAL),
        Document("b", "The moon is far.", Origin.BACKGROUND, "own"),
    ),
    {"made_by": {"seed": 1}},
)


def test_a_pack_comes_back_from_disk_as_it_was(tmp_path):
    write_pack(TOY, tmp_path / "pack")
    assert read_pack(tmp_path / "pack") == TOY
    manifest = json.loads((tmp_path / "pack/manifest.json").read_text("utf-8"))
    assert manifest["counts"]["injected"] == manifest["counts"]["background"] == 1


def test_a_pack_knows_its_clean_corpus_and_what_may_be_planted():
    assert [d.id for d in TOY.clean] == ["p", "n", "b"]
    assert [d.id for d in TOY.injected("tea", Stance.CON)] == ["c"]
    assert TOY.injected("tea", Stance.PRO) == ()


def test_a_changed_file_and_a_folder_of_something_else_are_refused(tmp_path):
    write_pack(TOY, tmp_path)
    with (tmp_path / "documents.jsonl").open("a") as lines:
        lines.write("\n")
    with pytest.raises(InputError, match="documents.jsonl"):
        read_pack(tmp_path)
    write_pack(TOY, tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/letter.txt").write_text("dear")
    with pytest.raises(InputError, match="holds other files"):
        write_pack(TOY, tmp_path / "other")


@pytest.mark.parametrize(
    "parts",
    [
        {"topics": TOY.topics * 2},
        {"questions": (Question("q", "coffee", "Coffee?"),)},
        {"documents": (Document("x", "x", Origin.GENUINE, "own", "tea"),)},
        {"documents": (Document("x", "x", Origin.NEUTRAL, "own", "milk", Stance.NEUTRAL),)},
    ],
)
def test_parts_that_do_not_hold_together_are_refused(parts):
    with pytest.raises(InputError):
        replace(TOY, **parts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stance": "maybe"}, "'d' must have an origin"),
        ({"origin": "planted"}, "must have an origin"),
        ({"text": None}, "text must be Unicode text, got None"),
        ({"text": "half \ud800"}, "text must be Unicode text"),
        ({"id": 3}, "id must be Unicode text, got 3"),
    ],
)
def test_a_document_that_is_none_is_named(change, message):
    row = {
        "id": "d",
        "text": "t",
        "origin": "genuine",
        "source": "s",
        "topic": "x",
        "stance": "pro",
    }
    assert document_of(row).stance is Stance.PRO
    with pytest.raises(InputError, match=message):
        document_of({**row, **change})


def test_a_pack_is_read_from_a_path_given_as_text(tmp_path):
    write_pack(TOY, tmp_path / "toy")
    assert read_pack(str(tmp_path / "toy")) == read_pack(tmp_path / "toy")


# Questions


def test_there_are_five_different_questions_for_each_of_45_topics():
    entries = read_questions()
    assert len(entries) == 45
    texts = [text for entry in entries for text in entry.questions]
    assert len(set(texts)) == len(texts) == 225
    assert all(text.endswith("?") and text[0].isupper() for text in texts)
    assert all(text == " ".join(text.split()) for text in texts)
    assert max(len(text.split()) for text in texts) <= 20
    assert "Should birth control pills be available over the counter?" not in texts


def test_every_question_can_be_answered_with_yes_or_no():
    opening = re.compile(
        "(Should|Is|Are|Was|Were|Does|Do|Did|Would|Can|May|Has) "  # no who, what, how, or which
    )
    for entry in read_questions():
        assert all(opening.match(text) for text in entry.questions), entry.topic


def test_no_paraphrase_is_turned_round_by_a_negation():
    negation = re.compile(r"\b(not|never|no|cannot|nobody|nothing|neither|nor)\b|n't", re.I)
    found = {t for e in read_questions() for t in e.questions[1:] if negation.search(t)}
    # "never have children" is what the topic asks for, not its opposite.
    assert found == {"Is it better never to have children?"}


def test_only_topics_of_the_held_out_fold_count_as_unseen():
    unseen = {e.topic for e in read_questions() if not e.seen_in_training}
    assert unseen == {
        "build-the-keystone-xl-pipeline",
        "housewives-be-paid-for-their-work",
        "introduce-year-round-schooling",
    }


def test_a_topic_of_the_held_out_fold_with_a_seen_related_topic_counts_as_seen():
    europe = next(e for e in read_questions() if e.topic.startswith("europe-weaken"))
    assert europe.folds[europe.topic] == 0
    assert europe.seen_in_training


def test_the_folds_are_those_of_the_trainer():
    data_folder = Path("/work/shared/data")
    if not data_folder.is_dir():
        pytest.skip("the stance data is not here")
    from equipoise.train.data import read_sources
    from equipoise.train.folds import fold_of_topic, read_groups
    from equipoise.train.recipe import preset

    recipe = preset("equipoise")
    groups = read_groups(data_folder / "topic_groups.tsv")
    rows = read_sources(data_folder / "stance", recipe.sources)
    topics = {row.topic for source in rows.values() for row in source}
    folds = fold_of_topic(topics, groups, seed=recipe.seed)
    for entry in read_questions():
        assert entry.folds == {slug: folds[slug] for slug in entry.folds}
        assert entry.group == groups[entry.topic]


@pytest.mark.parametrize(
    "change",
    [
        {"questions": ["Only one?"]},
        {"related": {"x": "sideways"}},
        {"folds": {}},
        {"title": None, "questions": None},
    ],
)
def test_a_damaged_line_of_questions_is_named(tmp_path, change):
    good = {
        "topic": "tea",
        "group": "tea",
        "title": "Tea",
        "questions": [f"Is tea good {n}?" for n in range(5)],
        "related": {},
        "folds": {"tea": 0},
    }
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(good))
    assert read_questions(path)[0].topic == "tea"
    path.write_text(json.dumps(good) + "\n" + json.dumps({**good, "topic": "x", **change}))
    with pytest.raises(InputError, match="questions.jsonl:2"):
        read_questions(path)
    path.write_text((json.dumps(good) + "\n") * 2)
    with pytest.raises(InputError, match="once"):
        read_questions(path)


# The embedded corpus


def test_the_embedded_pack_needs_no_data_and_holds_the_whole_corpus(tmp_path):
    pack = embedded_pack()
    counts = Counter(d.origin for d in pack.documents)
    assert len(pack.topics) == len(data.contested())
    assert len(pack.questions) == 5 * len(pack.topics)
    assert counts[Origin.GENUINE] == 16 * len(pack.topics)
    assert counts[Origin.NEUTRAL] == 4 * len(pack.topics)
    assert counts[Origin.INJECTED] == 14 * len(pack.topics)
    assert counts[Origin.BACKGROUND] == len(data.facts())
    assert {d.id for d in pack.clean} == {c.id for c in data.clean_corpus()}
    write_pack(pack, tmp_path / "pack")
    assert read_pack(tmp_path / "pack") == pack


def test_shares_of_the_embedded_pack_are_n_over_n_and_the_genuine():
    found = shares(embedded_pack(topics=3))
    # Eight for and eight against are genuine in every topic; the neutral ones do not count.
    for n in (2, 4, 5, 7):
        assert found[n] == pytest.approx(dict.fromkeys(("pro", "con", "both"), n / (16 + n)))


def test_fewer_topics_and_another_background_are_told():
    mine = (Document("m", "My own text.", Origin.BACKGROUND, "mine"),)
    pack = embedded_pack(mine, topics=2)
    assert len(pack.topics) == 2
    assert [d.id for d in pack.documents if d.origin is Origin.BACKGROUND] == ["m"]
    assert "mine" in pack.about["third_party"]
    assert len(embedded_pack(topics=99).topics) == len(data.contested())
    with pytest.raises(InputError, match="topics"):
        embedded_pack(topics=0)


# BEIR


@pytest.fixture
def beir(tmp_path) -> Path:
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": f"d{n}", "title": f"Title {n}", "text": f"Body  {n}."} for n in range(30)]
    rows.append({"_id": "blank", "title": "Only a title", "text": " "})
    (folder / "corpus.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "Which body?"}\n')
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td3\t2\nq1\td4\t0\n")
    return folder


def test_a_beir_corpus_is_read_as_background_by_its_body_alone(beir):
    documents = read_corpus(beir_folder(str(beir)))
    assert len(documents) == 30
    assert documents[3] == Document("d3", "Body 3.", Origin.BACKGROUND, "beir")
    assert read_queries(beir) == {"q1": "Which body?"}
    assert read_qrels(beir) == {"q1": {"d3": 2, "d4": 0}}


def test_a_packed_corpus_reads_the_same(beir):
    plain = read_corpus(beir)
    packed = gzip.compress((beir / "corpus.jsonl").read_bytes())
    (beir / "corpus.jsonl").unlink()
    (beir / "corpus.jsonl.gz").write_bytes(packed)
    assert read_corpus(beir) == plain


def test_a_parquet_corpus_reads_the_same(beir):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    plain = read_corpus(beir)
    rows = [json.loads(line) for line in (beir / "corpus.jsonl").read_text().splitlines()]
    (beir / "corpus.jsonl").unlink()
    (beir / "corpus").mkdir()
    for at, part in enumerate((rows[:20], rows[20:])):
        parquet.write_table(arrow.Table.from_pylist(part), beir / f"corpus/part-{at}.parquet")
    assert read_corpus(beir) == plain


def test_a_limit_draws_by_seed_and_keeps_the_order(beir):
    whole = read_corpus(beir)
    some = read_corpus(beir, limit=7, seed=1)
    assert len(some) == 7
    assert [d for d in whole if d in some] == list(some)
    assert some == read_corpus(beir, limit=7, seed=1)
    assert some != read_corpus(beir, limit=7, seed=2)
    assert read_corpus(beir, limit=99) == whole
    with pytest.raises(InputError, match="limit"):
        read_corpus(beir, limit=0)


def test_a_limit_draws_every_document_equally_often(beir):
    drawn_ids = Counter(d.id for seed in range(600) for d in read_corpus(beir, limit=5, seed=seed))
    # Expected 100 each of 30; four standard deviations are about 37.
    assert len(drawn_ids) == 30
    assert max(abs(count - 100) for count in drawn_ids.values()) < 40


def test_what_is_wrong_with_a_beir_folder_is_said(beir, tmp_path):
    with pytest.raises(InputError, match=r"corpus\.jsonl"):
        beir_folder(str(tmp_path))
    with pytest.raises(InputError, match="qrels/dev.tsv"):
        read_qrels(beir, "dev")
    (beir / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td3\thigh\n")
    with pytest.raises(InputError, match="'high'"):
        read_qrels(beir)
    (beir / "queries.jsonl").unlink()
    with pytest.raises(InputError, match="queries"):
        read_queries(beir)
    (beir / "corpus.jsonl").write_text('{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n')
    with pytest.raises(InputError, match=r"corpus.jsonl:2.*twice"):
        read_corpus(beir)
    (beir / "corpus.jsonl").write_text('{"_id": 7, "text": "x"}\n')
    with pytest.raises(InputError, match=r"corpus.jsonl:1.*_id"):
        read_corpus(beir)


def test_a_hub_that_cannot_be_reached_is_said(monkeypatch):
    hub = pytest.importorskip("huggingface_hub")

    def unreachable(name: str, **settings: object) -> str:
        raise ConnectionError("no route")

    monkeypatch.setattr(hub, "snapshot_download", unreachable)
    with pytest.raises(StoreError, match=r"'nobody/nothing'.*ConnectionError.*download the folder"):
        beir_folder("hub:nobody/nothing")


def test_a_corpus_from_the_hub_is_asked_for_as_a_dataset_and_read(monkeypatch, beir):
    hub = pytest.importorskip("huggingface_hub")
    asked: dict[str, object] = {}

    def download(name: str, **settings: object) -> str:
        asked.update(settings, name=name)
        return str(beir)

    monkeypatch.setattr(hub, "snapshot_download", download)
    pack = make_pack(None, ["hub:BeIR/nq"], limit=3)
    assert (asked["name"], asked["repo_type"]) == ("BeIR/nq", "dataset")
    sources = [d.source for d in pack.documents if d.origin is Origin.BACKGROUND]
    assert sources == ["BeIR/nq"] * 3
    (beir / "corpus.jsonl").unlink()
    with pytest.raises(InputError, match="'BeIR/nq' must hold a BEIR corpus"):
        beir_folder("hub:BeIR/nq")


@given(st.integers(0, 20), st.integers(1, 25), st.integers(0, 99))
def test_drawn_documents_are_as_many_as_asked_in_their_order(count, limit, seed):
    documents = [Document(str(n), "x", Origin.BACKGROUND, "s") for n in range(count)]
    found = drawn(documents, limit, seed=seed)
    assert len(found) == min(count, limit)
    assert [d for d in documents if d in found] == list(found)


# Making a pack by name, and the command


def test_backgrounds_replace_and_add_up(beir):
    def sources(*names: str, **given_: int) -> Counter:
        pack = make_pack(None, names, **given_)
        return Counter(d.source for d in pack.documents if d.origin is Origin.BACKGROUND)

    facts = len(data.facts())
    assert sources("own") == {"equipoise.data": facts}
    assert sources("none") == {}
    assert sources("unrelated") == {"equipoise.data": facts}  # facts are about no topic
    assert sources(str(beir)) == {"beir": 30}
    assert sources("own", str(beir)) == {"equipoise.data": facts, "beir": 30}
    assert sources("own", str(beir), limit=10) == {"equipoise.data": 10, "beir": 10}
    with pytest.raises(InputError, match="stand alone"):
        make_pack(None, ["none", "own"])


def run(*arguments: object):
    app = typer.Typer()
    app.command()(pack_command)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_writes_the_embedded_pack_and_prints_a_table(tmp_path):
    result = run("-o", tmp_path / "pack", "--topics", 2)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("embedded-2: 2 topics, 10 questions; 32 genuine, 8 neutral")
    assert any(
        line.split() == ["basic-income", "8", "8", "4", "7", "(0)", "7", "(0)"] for line in lines
    )
    assert "  n = 2: pro 11.1%, con 11.1%, both 11.1%" in lines
    assert "Wrote" in result.stderr
    made_by = read_pack(tmp_path / "pack").about["made_by"]
    assert made_by["settings"]["topics"] == 2


def test_the_command_prints_json_and_nothing_else_on_stdout(tmp_path, beir):
    result = run("-o", tmp_path / "pack", "--background", beir, "--background-limit", 4, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["documents"]["background"] == 4
    assert found["shares"]["7"]["pro"] == pytest.approx(7 / 23)
    assert found["per_topic"]["zoos"]["injected_con"] == 7


def test_the_command_says_when_there_are_fewer_topics(tmp_path):
    result = run("-o", tmp_path / "pack", "--topics", 99)
    assert "99 topics were asked for, and there are 12" in result.stderr


def test_the_command_takes_a_data_folder(tmp_path):
    folder = tmp_path / "data"
    (folder / "stance").mkdir(parents=True)
    entry = read_questions()[0]
    rows = [
        {"id": f"{side}{n}", "topic": entry.topic, "stance": side, "text": text}
        for side in ("pro", "con", "neutral")
        for n in range(3)
        if (text := " ".join(f"{side}{n}word{w}" for w in range(30)))
    ]
    path = folder / "stance/ibm_wiki_passages.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    result = run("--data", folder, "--background", "none", "-o", tmp_path / "pack", "--keep", 1)
    assert result.exit_code == 0, result.output
    cells = next(line for line in result.stdout.splitlines() if line.startswith(entry.topic))
    assert cells.split()[1:] == ["1", "1", "3", "2", "(0)", "2", "(0)", "yes"]
    assert "Not in the data, and left out: procon20" in result.stderr
    assert read_pack(tmp_path / "pack").about["made_by"]["settings"]["keep"] == 1


def test_what_the_embedded_corpus_keeps_out_cannot_be_chosen(tmp_path):
    for option in ("--planted", "--keep"):
        result = run("-o", tmp_path / "p", option, "3")
        assert isinstance(result.exception, InputError)
        assert "go with --data" in str(result.exception)
