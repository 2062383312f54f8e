"""Finding documents: corpora, embedders, indexes and retrievers.

corpus -> build_index -> open_retriever -> retrieve(question, k) -> candidates
"""

from equipoise.errors import EmbedderError
from equipoise.retrieval.base import Embedder, FusedRetriever
from equipoise.retrieval.bm25_store import Bm25Retriever
from equipoise.retrieval.build import IndexSummary, add_to_index, build_index
from equipoise.retrieval.chunking import chunk_document
from equipoise.retrieval.corpus import Corpus, Fields
from equipoise.retrieval.embedder import load_embedder
from equipoise.retrieval.faiss_store import DenseRetriever, FaissStore
from equipoise.retrieval.memory import MemoryRetriever
from equipoise.retrieval.onnx_embedder import OnnxEmbedder
from equipoise.retrieval.openai_embedder import OpenAIEmbedder, Retries
from equipoise.retrieval.opening import open_retriever
from equipoise.retrieval.sentence_transformers_embedder import SentenceTransformersEmbedder

__all__ = [
    "Bm25Retriever",
    "Corpus",
    "DenseRetriever",
    "Embedder",
    "EmbedderError",
    "FaissStore",
    "Fields",
    "FusedRetriever",
    "IndexSummary",
    "MemoryRetriever",
    "OnnxEmbedder",
    "OpenAIEmbedder",
    "Retries",
    "SentenceTransformersEmbedder",
    "add_to_index",
    "build_index",
    "chunk_document",
    "load_embedder",
    "open_retriever",
]
