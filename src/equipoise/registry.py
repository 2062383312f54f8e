"""Names of parts -> where they live, so that a name in a setting loads one module only."""

from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

from equipoise.errors import InputError

_STANCE: Final = "equipoise.stance"
_SELECTION: Final = "equipoise.selection"
_RETRIEVAL: Final = "equipoise.retrieval"
_GENERATION: Final = "equipoise.generation"

# kind -> name -> "module:attribute". Text only: nothing is imported until resolve() asks for it.
PARTS: Final = MappingProxyType(
    {
        "detector": MappingProxyType(
            {
                "cached": f"{_STANCE}.cached:CachedDetector",
                "classifier": f"{_STANCE}.classifier:ClassifierDetector",
                "remote": f"{_STANCE}.remote:RemoteDetector",
                "zero_shot": f"{_STANCE}.zero_shot:ZeroShotDetector",
            }
        ),
        "embedder": MappingProxyType(
            {
                "minilm": f"{_RETRIEVAL}.onnx_embedder:OnnxEmbedder",
                "onnx": f"{_RETRIEVAL}.onnx_embedder:OnnxEmbedder",
                "openai": f"{_RETRIEVAL}.openai_embedder:OpenAIEmbedder",
                "sentence-transformers": f"{_RETRIEVAL}.sentence_transformers_embedder"
                ":SentenceTransformersEmbedder",
            }
        ),
        "filter": MappingProxyType({"biasdef": "equipoise.polarization.biasdef:BiasDef"}),
        "generator": MappingProxyType(
            {
                "local": f"{_GENERATION}.local:LocalGenerator",
                "remote": f"{_GENERATION}.remote:RemoteGenerator",
            }
        ),
        "retriever": MappingProxyType(
            {
                "bm25": f"{_RETRIEVAL}.bm25_store:Bm25Retriever",
                "dense": f"{_RETRIEVAL}.faiss_store:DenseRetriever",
                "fused": f"{_RETRIEVAL}.base:FusedRetriever",
            }
        ),
        "rule": MappingProxyType(
            {
                "mmr": f"{_SELECTION}.mmr:MmrRule",
                "quota": f"{_SELECTION}.quota:QuotaRule",
                "random": f"{_SELECTION}.random:RandomRule",
                "relevance": f"{_SELECTION}.relevance:RelevanceRule",
            }
        ),
        "store": MappingProxyType(
            {
                "faiss": f"{_RETRIEVAL}.folder_store:FolderStore",
                "milvus": f"{_RETRIEVAL}.milvus_store:MilvusStore",
                "postgresql": f"{_RETRIEVAL}.pgvector_store:PgvectorStore",
                "qdrant": f"{_RETRIEVAL}.qdrant_store:QdrantStore",
            }
        ),
    }
)


def names(kind: str) -> tuple[str, ...]:
    """The known names of one kind of part, sorted.

    Raises:
        InputError: there is no such kind; the message lists the kinds.

    >>> names("rule")
    ('mmr', 'quota', 'random', 'relevance')
    """
    if kind not in PARTS:
        raise InputError(f"the kind of part must be one of {', '.join(PARTS)}, got {kind!r}")
    return tuple(sorted(PARTS[kind]))


def resolve(kind: str, name: str) -> Any:
    """The class that `name` stands for among the parts of `kind`.

    Its module is imported now; an optional library that is missing shows when the class is used.

    Raises:
        InputError: no such kind or no such name; the message lists the known ones.

    Source: ours.
    """
    known = names(kind)
    if name not in known:
        raise InputError(f"the {kind} must be one of {', '.join(known)}, got {name!r}")
    module, _, attribute = PARTS[kind][name].partition(":")
    return getattr(import_module(module), attribute)
