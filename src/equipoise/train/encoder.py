"""The encoder to start from: a general one, its vocabulary trimmed and its top layers left out."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer


def trim_tokenizer(
    source: Path, texts: Iterable[str], *, min_count: int
) -> tuple[Tokenizer, list[int]]:
    """A tokenizer with fewer word pieces, and for each new id the old id.

    Kept are the special tokens, every one-character piece (so that any word can still be spelled),
    and pieces seen at least `min_count` times in `texts`. Works on WordPiece `tokenizer.json`
    files with a RobertaProcessing post-processor (MPNet).
    """
    spec: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    spec["truncation"] = spec["padding"] = None
    full = Tokenizer.from_str(json.dumps(spec))
    counts: Counter[int] = Counter()
    for text in texts:
        counts.update(full.encode(text, add_special_tokens=False).ids)
    special = {token["id"] for token in spec["added_tokens"]}
    kept = [
        index
        for piece, index in sorted(spec["model"]["vocab"].items(), key=lambda item: item[1])
        if index in special or counts[index] >= min_count or len(piece.removeprefix("##")) == 1
    ]
    new_id = {old: new for new, old in enumerate(kept)}
    spec["model"]["vocab"] = {
        piece: new_id[index] for piece, index in spec["model"]["vocab"].items() if index in new_id
    }
    for token in spec["added_tokens"]:
        token["id"] = new_id[token["id"]]
    for end in ("sep", "cls"):
        piece, old = spec["post_processor"][end]
        spec["post_processor"][end] = [piece, new_id[old]]
    return Tokenizer.from_str(json.dumps(spec)), kept


def trim_model(model: Any, kept: list[int], *, layers: int) -> Any:
    """The same model with the embedding rows `kept` and its lowest `layers` layers.

    Top layers are the cheapest to lose (Sajjad et al. 2023, "On the effect of dropping layers of
    pre-trained transformer models").
    """
    import torch

    embeddings = model.get_input_embeddings()
    trimmed = torch.nn.Embedding(
        len(kept), embeddings.embedding_dim, padding_idx=embeddings.padding_idx
    )
    with torch.no_grad():
        trimmed.weight.copy_(embeddings.weight[torch.tensor(kept)])
    model.set_input_embeddings(trimmed)
    encoder = model.base_model.encoder
    encoder.layer = encoder.layer[:layers]
    model.config.vocab_size = len(kept)
    model.config.num_hidden_layers = layers
    return model
