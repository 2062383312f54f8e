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
from equipoise.retrieval.loading import Backoff, LoadSummary, load_store
from equipoise.retrieval.memory import MemoryRetriever
from equipoise.retrieval.onnx_embedder import OnnxEmbedder
from equipoise.retrieval.openai_embedder import OpenAIEmbedder, Retries
from equipoise.retrieval.opening import open_retriever
from equipoise.retrieval.sentence_transformers_embedder import SentenceTransformersEmbedder
from equipoise.retrieval.store import StoreRetriever, VectorStore, open_store
from equipoise.retrieval.where import Where

__all__ = [
    "Backoff",
    "Bm25Retriever",
    "Corpus",
    "DenseRetriever",
    "Embedder",
    "EmbedderError",
    "FaissStore",
    "Fields",
    "FusedRetriever",
    "IndexSummary",
    "LoadSummary",
    "MemoryRetriever",
    "OnnxEmbedder",
    "OpenAIEmbedder",
    "Retries",
    "SentenceTransformersEmbedder",
    "StoreRetriever",
    "VectorStore",
    "Where",
    "add_to_index",
    "build_index",
    "chunk_document",
    "load_embedder",
    "load_store",
    "open_retriever",
    "open_store",
]
