import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import InputError
from equipoise.retrieval import Corpus, Fields
from equipoise.types import Candidate

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "First, with a comma.", "topic": "t"},
    {"id": "b", "text": 'Second\nline with "quotes" and ünïcode 🦜.', "topic": "t"},
]
EXPECTED = [Candidate(row["id"], row["text"], metadata={"topic": "t"}) for row in ROWS]


def write_json_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows in the format that the suffix says."""
    if path.suffix == ".parquet":
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.Table.from_pylist(rows), path)
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="", encoding="utf-8-sig") as file:  # as spreadsheets save it
            delimiter = "," if path.suffix == ".csv" else "\t"
            writer = csv.DictWriter(file, fieldnames=list(rows[0]), delimiter=delimiter)
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    else:
        write_json_lines(path, rows)
    return path


@pytest.mark.parametrize("name", ["c.jsonl", "c.ndjson", "c.json", "c.csv", "c.tsv", "c.parquet"])
def test_every_table_format_gives_the_same_documents(tmp_path: Path, name: str) -> None:
    assert list(Corpus(write(tmp_path / name, ROWS))) == EXPECTED


@pytest.mark.parametrize("name", ["c.jsonl", "c.json", "C.CSV"])
def test_a_gzipped_file_reads_as_its_content(tmp_path: Path, name: str) -> None:
    plain = write(tmp_path / name.lower(), ROWS)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert list(Corpus(packed)) == EXPECTED


def test_a_folder_gives_its_text_and_markdown_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "z.txt").write_text("\ufeffLast.", encoding="utf-8")
    (tmp_path / "sub" / "a.md").write_text("# Head\n\nBody.", encoding="utf-8")
    (tmp_path / ".hidden" / "b.txt").write_text("no", encoding="utf-8")
    (tmp_path / "table.csv").write_text("id,text\n1,no\n", encoding="utf-8")
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(b"Packed."))
    assert list(Corpus(tmp_path)) == [
        Candidate("packed.txt.gz", "Packed.", metadata={"source": "packed.txt.gz"}),
        Candidate("sub/a.md", "# Head\n\nBody.", metadata={"source": "sub/a.md"}),
        Candidate("z.txt", "Last.", metadata={"source": "z.txt"}),
    ]


def test_text_files_need_no_text_field(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Body.", encoding="utf-8")
    assert [c.text for c in Corpus(tmp_path, fields=Fields(text="body", id="key"))] == ["Body."]


def test_fields_can_have_other_names(tmp_path: Path) -> None:
    file = write_json_lines(tmp_path / "c.jsonl", [{"key": 7, "body": "Text.", "id": "kept"}])
    found = list(Corpus(file, fields=Fields(text="body", id="key")))
    assert found == [Candidate("7", "Text.", metadata={"id": "kept"})]


def test_rows_without_id_are_named_by_their_place(tmp_path: Path) -> None:
    file = write_json_lines(tmp_path / "c.jsonl", [{"text": "a"}, {"text": "b", "id": None}])
    assert [document.id for document in Corpus(file)] == ["c.jsonl:1", "c.jsonl:2"]


def test_blank_and_null_texts_are_left_out_and_counted_anew_each_time(tmp_path: Path) -> None:
    rows = [{"text": ""}, {"text": " \n"}, {"text": None}, {"text": "Here."}]
    corpus = Corpus(write_json_lines(tmp_path / "c.jsonl", rows))
    assert [document.text for document in corpus] == ["Here."]
    assert len(list(corpus)) == 1
    assert corpus.blank == 3


def test_metadata_become_plain_json_values(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    import datetime

    row = {"text": "a", "when": datetime.date(2026, 1, 2), "score": float("nan"), "tags": ["x"]}
    parquet.write_table(arrow.Table.from_pylist([row]), tmp_path / "c.parquet")
    (document,) = Corpus(tmp_path / "c.parquet")
    assert json.loads(json.dumps(dict(document.metadata), allow_nan=False)) == {
        "when": "2026-01-02",
        "score": "nan",
        "tags": ["x"],
    }


def test_a_csv_field_may_be_longer_than_the_csv_module_likes(tmp_path: Path) -> None:
    csv.field_size_limit(131_072)  # what Python starts with
    file = write(tmp_path / "c.csv", [{"id": "a", "text": "x" * 200_000}])
    assert [len(document.text) for document in Corpus(file)] == [200_000]
    assert csv.field_size_limit() == 131_072


GOOD = b'{"id": "a", "text": "Fine."}\n'
BROKEN: dict[str, tuple[str, bytes, str]] = {
    "malformed line": ("c.jsonl", GOOD + b'{"text": \n', r"c\.jsonl:2: each line must be a JSON"),
    "not an object": ("c.jsonl", GOOD + b'\n["x"]\n', r"c\.jsonl:3: .* got a list"),
    "no text field": ("c.jsonl", GOOD + b'{"body": "x"}\n', r"c\.jsonl:2: .* 'text'.*'body'"),
    "text not a string": (
        "c.jsonl",
        b'{"text": 3}\n',
        r"c\.jsonl:1: .* must hold a string, got int",
    ),
    "id not a string": ("c.jsonl", b'{"text": "x", "id": 1.5}\n', r"c\.jsonl:1: .*got float"),
    "latin-1 line": ("c.jsonl", GOOD + b'{"text": "caf\xe9"}\n', r"c\.jsonl:2: .*UTF-8.*0xe9"),
    "latin-1 text": ("c.txt", b"fine\ncaf\xe9", r"c\.txt:2: .*UTF-8"),
    "duplicate id": ("c.jsonl", GOOD + GOOD, r"'a' is used twice: at c\.jsonl:1 and at c\.jsonl:2"),
    "json syntax": ("c.json", b'[\n{"text": "x"},\n]', r"c\.json:\d: the file must be JSON"),
    "json no list": ("c.json", b'{"text": "x"}', r"list of objects, got an object"),
    "json item": ("c.json", b'[{"text": "x"}, "y"]', r"c\.json:item 2: .*got a string"),
    "csv too many": ("c.csv", b'id,text\na,"x\ny"\nb,y,z\n', r"c\.csv:4: .* 2 fields.*got 3"),
    "csv too few": ("c.csv", b"id,text\na\n", r"c\.csv:2: .* 2 fields.*got 1"),
    "csv open quote": ("c.csv", b'id,text\na,"x\n', r"c\.csv:2: .*well-formed"),
    "csv header": ("c.csv", b"text,text\na,b\n", r"c\.csv:1: the header must name each field once"),
    "cut gzip": ("c.jsonl.gz", gzip.compress(GOOD)[:-9], r"whole gzip data"),
    "no gzip": ("c.jsonl.gz", GOOD, r"whole gzip data"),
    "other suffix": ("c.docx", b"x", r"must end in one of \.jsonl.*'c\.docx'"),
    "no parquet": ("c.parquet", b"PAR1 nothing", r"c\.parquet: not a readable Parquet file"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_corpus_is_an_input_error_that_names_the_place(tmp_path: Path, case: str) -> None:
    name, content, message = BROKEN[case]
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(Corpus(tmp_path / name))


def test_a_missing_id_is_an_error_only_when_its_field_was_named(tmp_path: Path) -> None:
    file = write_json_lines(tmp_path / "c.jsonl", [{"text": "x", "id": "a"}])
    with pytest.raises(InputError, match=r"c\.jsonl:1: .* id field 'key'"):
        list(Corpus(file, fields=Fields(id="key")))


def test_a_path_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be a file or a folder that exists"):
        Corpus(tmp_path / "nowhere.jsonl")


def test_a_folder_without_texts_says_what_to_give(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(GOOD)
    with pytest.raises(InputError, match="give the file itself"):
        Corpus(tmp_path)
