"""The encoder to start from: any Hugging Face one, or a bundled detector; trimmed where asked."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from equipoise.errors import InputError
from equipoise.stance.folder import BUNDLED, bundled_names
from equipoise.stance.pairs import PairTokenizer
from equipoise.train.data import LABELS


@dataclass(frozen=True, slots=True)
class Encoder:
    """A model with three outputs in the order of `LABELS`, and what belongs to it.

    `segments` says that the model has segment (token type) embeddings to be told apart.
    """

    model: Any
    tokenizer: Tokenizer
    pad_id: int
    segments: bool

    @property
    def pairs(self) -> PairTokenizer:
        """The tokenizer as it will read pairs in the detector."""
        return PairTokenizer(Tokenizer.from_str(self.tokenizer.to_str()))

    def save(self, folder: Path) -> None:
        """Write config, safetensors weights and tokenizer.json, as `load_encoder` reads them."""
        self.model.save_pretrained(folder)
        self.tokenizer.save(str(folder / "tokenizer.json"))


def load_encoder(base: str | Path) -> Encoder:
    """The encoder `base`: a bundled detector's name, a folder, or a hub id.

    A head of another shape (or none) is made anew, so the seed must be set before.

    Raises:
        InputError: it cannot be loaded, or has no tokenizer that writes itself as tokenizer.json.
    """
    if base in bundled_names():
        from equipoise.train.unquantize import read_back

        return read_back(BUNDLED / base)
    from transformers import AutoModelForSequenceClassification

    try:
        model = AutoModelForSequenceClassification.from_pretrained(
            base,
            num_labels=len(LABELS),
            id2label=dict(enumerate(LABELS)),
            label2id={label: index for index, label in enumerate(LABELS)},
            ignore_mismatched_sizes=True,
        )
    except Exception as error:  # of many libraries' classes
        raise InputError(
            "the encoder must be a bundled detector's name, a folder with config.json and weights, "
            f"or a hub id that can be reached; got {str(base)!r}: {error}"
        ) from error
    return as_encoder(model, _tokenizer(base))


def as_encoder(model: Any, tokenizer: Tokenizer) -> Encoder:
    """The model with its tokenizer, its padding token and the kind of its inputs."""
    import inspect

    takes_types = "token_type_ids" in inspect.signature(model.forward).parameters
    segments = takes_types and getattr(model.config, "type_vocab_size", 0) > 1
    pad = model.config.pad_token_id
    return Encoder(model, tokenizer, 0 if pad is None else int(pad), segments)


def _tokenizer(base: str | Path) -> Tokenizer:
    file = Path(base) / "tokenizer.json"
    if file.is_file():
        return Tokenizer.from_file(str(file))
    from transformers import AutoTokenizer

    try:
        return Tokenizer.from_str(AutoTokenizer.from_pretrained(base).backend_tokenizer.to_str())
    except Exception as error:  # no fast form of it, or a missing library
        raise InputError(f"{base} must have a tokenizer.json or convert to one: {error}") from error


def trim(encoder: Encoder, texts: Iterable[str], *, layers: int | None, min_count: int) -> Encoder:
    """The encoder with fewer layers and word pieces (0: all pieces, None: all layers).

    Top layers are the cheapest to lose (Sajjad et al. 2023, "On the effect of dropping layers of
    pre-trained transformer models").

    Raises:
        InputError: it has fewer layers than asked for, or a vocabulary that is not WordPiece.
    """
    model, tokenizer, pad_id = encoder.model, encoder.tokenizer, encoder.pad_id
    if min_count:
        tokenizer, kept = trim_tokenizer(tokenizer, texts, min_count=min_count)
        pad_id = kept.index(pad_id)
        _keep_rows(model, kept, pad_id)
    if layers is not None:
        blocks = _blocks(model)
        if not 1 <= layers <= len(blocks):
            raise InputError(f"layers must lie in 1..{len(blocks)} for this encoder, got {layers}")
        model.base_model.encoder.layer = blocks[:layers]
        model.config.num_hidden_layers = layers
    return as_encoder(model, tokenizer)


def trim_tokenizer(
    tokenizer: Tokenizer, texts: Iterable[str], *, min_count: int
) -> tuple[Tokenizer, list[int]]:
    """A tokenizer with fewer word pieces, and for each new id the old id.

    Kept are the special tokens, every one-character piece (so that any word can still be spelled),
    and pieces seen at least `min_count` times in `texts`.

    Raises:
        InputError: the vocabulary is not WordPiece.
    """
    spec: dict[str, Any] = json.loads(tokenizer.to_str())
    if spec["model"]["type"] != "WordPiece":
        raise InputError(
            f"min_count must be 0 for a vocabulary of the kind {spec['model']['type']}: only "
            "WordPiece can be trimmed"
        )
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
    _renumber(spec["post_processor"], new_id)
    return Tokenizer.from_str(json.dumps(spec)), kept


def _renumber(processor: dict[str, Any], new_id: dict[int, int]) -> None:
    for end in ("sep", "cls"):  # RobertaProcessing, BertProcessing
        if end in processor:
            piece, old = processor[end]
            processor[end] = [piece, new_id[old]]
    for token in processor.get("special_tokens", {}).values():  # TemplateProcessing
        token["ids"] = [new_id[old] for old in token["ids"]]


def _keep_rows(model: Any, kept: list[int], pad_id: int) -> None:
    import torch

    embeddings = model.get_input_embeddings()
    trimmed = torch.nn.Embedding(len(kept), embeddings.embedding_dim, padding_idx=pad_id)
    with torch.no_grad():
        trimmed.weight.copy_(embeddings.weight[torch.tensor(kept)])
    model.set_input_embeddings(trimmed)
    model.config.vocab_size = len(kept)
    model.config.pad_token_id = pad_id


def freeze(model: Any, layers: int) -> None:
    """Leave the embeddings and the lowest `layers` layers as they are (0: train everything).

    Raises:
        InputError: it has fewer layers.
    """
    if not layers:
        return
    blocks = _blocks(model)
    if layers > len(blocks):
        raise InputError(f"frozen_layers must lie in 0..{len(blocks)} here, got {layers}")
    for part in (model.base_model.embeddings, *blocks[:layers]):
        part.requires_grad_(False)


def set_dropout(model: Any, share: float | None) -> None:
    """Drop this share of values in every dropout layer, in [0, 1); None leaves them as they are.

    Attention that drops nothing takes the faster of PyTorch's two ways (docs/log.md).
    """
    import torch

    if share is not None:
        for part in model.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = share


def _blocks(model: Any) -> Any:
    try:
        return model.base_model.encoder.layer
    except AttributeError as error:
        raise InputError(
            f"layers and frozen_layers are for encoders whose layers lie in encoder.layer; "
            f"{model.config.model_type} keeps them elsewhere: leave both out"
        ) from error
