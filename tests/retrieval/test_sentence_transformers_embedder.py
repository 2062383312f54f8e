"""On a tiny checkpoint that the test makes: no download."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.errors import InputError
from equipoise.retrieval import Embedder, EmbedderError, build_index, load_embedder, open_retriever
from equipoise.types import Candidate

# Third-party deprecations at import are not this test's subject.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("torch")
    pytest.importorskip("sentence_transformers")
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "apple", "banana", "query", ":", "?"]
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(1)
    sizes = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    BertModel(sizes).save_pretrained(folder)
    model = SentenceTransformer(
        modules=[Transformer(str(folder)), Pooling(16)],
        prompts={"query": "query: ", "document": ""},
    )
    model.save(str(folder / "st"))
    return str(folder / "st")


@pytest.fixture
def embedder(checkpoint: str) -> Embedder:
    return load_embedder(f"sentence-transformers:{checkpoint}")


def test_it_is_an_embedder_with_rows_of_length_one(embedder: Embedder, checkpoint: str) -> None:
    assert isinstance(embedder, Embedder)
    assert embedder.name == f"sentence-transformers:{checkpoint}"
    rows = embedder.embed(["apple", "banana banana", "\ud800"])
    assert rows.shape == (3, embedder.dimension) == (3, 16)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert embedder.embed([]).shape == (0, 16)


def test_questions_get_the_models_prompt(embedder: Embedder) -> None:
    with_prompt = embedder.embed(["query: apple"])[0]
    np.testing.assert_allclose(embedder.embed_question("apple"), with_prompt, atol=1e-5)
    assert not np.allclose(
        embedder.embed_question("apple"), embedder.embed(["apple"])[0], atol=0.01
    )


def test_an_index_is_opened_again_by_the_models_name(embedder: Any, tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    documents = [Candidate("a", "apple"), Candidate("b", "banana")]
    build_index(documents, tmp_path / "ix", embedder=embedder, bm25=False)
    assert len(open_retriever(tmp_path / "ix").retrieve("apple", 2)) == 2


def test_a_folder_without_a_model_is_an_embedder_error(checkpoint: str, tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="must be a folder or a name on the hub"):
        load_embedder(f"sentence-transformers:{tmp_path}")


def test_a_batch_below_one_is_an_input_error() -> None:
    from equipoise.retrieval import SentenceTransformersEmbedder

    with pytest.raises(InputError, match="batch must be >= 1"):
        SentenceTransformersEmbedder("any", batch=0)
