import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from equipoise.errors import DetectorError, EmbedderError, InputError
from equipoise.scale import Embedding, Labeller, read_blocks
from equipoise.scale.blocks import rows_of
from equipoise.scale.tasks import UNREADABLE
from equipoise.testing import FakeDetector
from equipoise.types import StanceScore

from .toy import FirstWord


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=3),
    block_rows=st.integers(1, 12),
    group=st.integers(1, 9),
    order=st.randoms(use_true_random=False),
)
def test_every_row_is_in_one_block_and_in_order(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    block_rows: int,
    group: int,
    order: Random,
) -> None:
    folder = tmp_path_factory.mktemp("in")
    files, expected = [], []
    for number, size in enumerate(sizes):
        rows = [{"id": f"{number}-{n}", "text": "x\u2028y"} for n in range(size)]
        expected += [row["id"] for row in rows]
        files += [folder / f"{number}.jsonl", folder / f"{number}.parquet"]
        expected += [row["id"] for row in rows]
        files[-2].write_text("".join(f"{json.dumps(row)}\n\n" for row in rows), encoding="utf-8")
        schema = pa.schema([("id", pa.string()), ("text", pa.string())])
        table = pa.Table.from_pylist(rows, schema=schema)
        parquet.write_table(table, files[-1], row_group_size=group)
    blocks = list(read_blocks(files, block_rows=block_rows))
    assert [row["id"] for block in blocks for row in rows_of(block)] == expected
    assert [block.number for block in blocks] == list(range(len(blocks)))
    firsts = [sum(b.rows for b in blocks[:n]) for n in range(len(blocks))]
    assert [block.first_row for block in blocks] == firsts
    assert all(1 <= block.rows <= block_rows for block in blocks)
    for block in order.sample(blocks, len(blocks)):  # as workers of many take them
        rows = expected[block.first_row : block.first_row + block.rows]
        assert [row["id"] for row in rows_of(block)] == rows


def test_a_large_row_group_is_not_held(tmp_path: Path) -> None:
    table = pa.table({"text": [f"{n:0200d}" for n in range(100_000)]})
    parquet.write_table(table, tmp_path / "a.parquet", compression="none", use_dictionary=False)
    size = table.nbytes
    del table
    before = pa.total_allocated_bytes()
    rows = [row["text"] for b in read_blocks([tmp_path / "a.parquet"]) for row in rows_of(b)]
    assert [int(text) for text in rows] == list(range(100_000))
    block = next(read_blocks([tmp_path / "a.parquet"]))
    rows_of(block)
    assert pa.total_allocated_bytes() - before < size / 3


def test_a_file_that_changed_is_found_out(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "a"}\n' * 5)
    blocks = list(read_blocks([file], block_rows=2))
    file.write_text('{"text": "a"}\n' * 3)
    assert len(rows_of(blocks[0])) == 2
    with pytest.raises(InputError, match="must not change"):
        rows_of(blocks[1])


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.jsonl or \.parquet file, got .*a\.csv"):
        list(read_blocks([tmp_path / "a.csv"]))
    with pytest.raises(InputError, match="cannot read"):
        list(read_blocks([tmp_path / "missing.jsonl"]))
    with pytest.raises(InputError, match="block_rows must be an int >= 1, got 0"):
        list(read_blocks([], block_rows=0))


def test_a_row_that_fails_fails_alone_and_says_why() -> None:
    labeller = Labeller(FirstWord(), question="Should it be?")
    rows = [
        {"text": "pro 1"},
        {"text": "odd"},
        {"text": None},
        {UNREADABLE: "no JSON"},
        {"text": "con 2"},
    ]
    made = labeller(rows)
    assert [row["stance"] for row in made] == ["pro", None, None, None, "con"]
    assert [row["error"] for row in made] == [
        None,
        "DetectorError: no side in 'odd'",
        "'text' must be a str, got NoneType",
        "no JSON",
        None,
    ]


def test_a_model_that_fails_on_one_row_after_another_is_no_failure_of_rows() -> None:
    for rows in (
        [{"question": "Q?", "text": "odd"}] * 8,
        [{"question": f"Q{n}?", "text": "odd"} for n in range(8)],
    ):
        with pytest.raises(DetectorError, match="no side in 'odd'"):
            Labeller(FirstWord())(rows)
        assert all(row["error"] for row in Labeller(FirstWord())(rows[:7]))
    sound = {"question": "Q?", "text": "pro"}
    odd = [{"question": "Q?", "text": "odd"}] * 7
    made = Labeller(FirstWord())([*odd, sound, *odd])
    assert [row["error"] is None for row in made] == [False] * 7 + [True] + [False] * 7


def test_a_model_that_cannot_be_loaded_is_no_failure_of_rows(tmp_path: Path) -> None:
    with pytest.raises((DetectorError, InputError)):
        Labeller(str(tmp_path / "missing"), question="Q?")([{"text": "a"}])


def test_a_detector_that_gives_too_few_scores_is_told() -> None:
    class Short:
        name = "short"

        def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
            return []

    made = Labeller(Short(), question="Q?")([{"text": "a"}, {"text": "b"}])
    assert all("one score a text" in row["error"] for row in made)


def test_questions_come_from_a_column_and_go_to_the_detector_together() -> None:
    fake = FakeDetector({}, default="pro")
    labeller = Labeller(fake, question_column="q", text_column="t")
    made = labeller(
        [{"q": "A?", "t": "1"}, {"q": "B?", "t": "2"}, {"q": "A?", "t": "3"}, {"t": "4"}]
    )
    assert [row["question"] for row in made] == ["A?", "B?", "A?", None]
    assert made[3]["error"] == "'q' must be a question, got NoneType"
    assert (fake.calls, fake.texts) == (2, ["1", "3", "2"])
    with pytest.raises(InputError, match="must not be blank"):
        Labeller(fake, question=" ")


def test_embeddings_are_rows_of_length_one_and_bad_texts_are_told() -> None:
    class Ones:
        name, dimension = "ones", 4

        def embed(self, texts: list[str]) -> np.ndarray:
            if "bad" in texts:
                raise EmbedderError("cannot")
            return np.full((len(texts), 4), 0.5, dtype=np.float32)

    made = Embedding(Ones())([{"text": "a"}, {"text": "bad"}, {"text": 1}])  # type: ignore[arg-type]
    assert list(made[0]["embedding"]) == [0.5] * 4
    assert [row["error"] for row in made] == [
        None, "EmbedderError: cannot", "'text' must be a str, got int",
    ]  # fmt: skip
    assert made[1]["embedding"] is None


def test_a_dask_bag_takes_the_same_labeller() -> None:
    bag = pytest.importorskip("dask.bag")
    labeller = Labeller(FirstWord(), question="Should it be?")
    rows = [{"text": f"{side} {n}"} for n, side in enumerate(["pro", "con", "neutral"] * 4)]
    by_dask = bag.from_sequence(rows, npartitions=3).map_partitions(labeller)
    assert by_dask.compute(scheduler="synchronous") == labeller(rows)
