"""One training run of a pair classifier, with checkpoints that a stopped run continues from."""

import json
import math
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from equipoise.errors import InputError
from equipoise.train.data import LABELS, Row


@dataclass(frozen=True, slots=True)
class Recipe:
    """The knobs of one run.

    `batch_tokens` bounds the padded tokens of one step; `max_length` counts tokens of the pair,
    the question whole and the document cut. `bfloat16` runs the matrix products in that type
    (weights stay float32): twice as fast on processors with AVX-512 BF16, slower on others.
    """

    learning_rate: float = 3e-5
    weight_decay: float = 0.01
    warmup_share: float = 0.06
    label_smoothing: float = 0.05
    batch_tokens: int = 1_536
    max_length: int = 144
    epochs: int = 1
    seed: int = 20260831
    checkpoint_minutes: float = 8.0
    bfloat16: bool = True


@dataclass(frozen=True, slots=True)
class Example:
    """Token ids of one pair and the index of its label in `LABELS`."""

    ids: tuple[int, ...]
    label: int


def token_id(tokenizer: Tokenizer, token: str) -> int:
    """The id of a special token.

    Raises:
        InputError: the tokenizer has no such token.
    """
    found = tokenizer.token_to_id(token)
    if found is None:
        raise InputError(f"the tokenizer must have the token {token!r}, as MPNet's has")
    return int(found)


def encode(rows: Sequence[Row], tokenizer: Tokenizer, *, max_length: int) -> list[Example]:
    """Examples of `rows`, in order, cut to `max_length` tokens at the end of the document."""
    pairs = tokenizer.encode_batch([(row.question, row.text) for row in rows])
    end = token_id(tokenizer, "</s>")
    return [
        Example(
            tuple(pair.ids if len(pair.ids) <= max_length else [*pair.ids[: max_length - 1], end]),
            LABELS.index(row.stance),
        )
        for pair, row in zip(pairs, rows, strict=True)
    ]


def batches(
    examples: Sequence[Example], *, batch_tokens: int, rng: random.Random
) -> list[list[Example]]:
    """Batches of like length, each within `batch_tokens` padded tokens, in random order."""
    # The noise keeps the members of a batch changing from epoch to epoch.
    order = sorted(examples, key=lambda example: len(example.ids) + rng.uniform(0, 8))
    made: list[list[Example]] = [[]]
    for example in order:
        longest = max([len(example.ids), *(len(other.ids) for other in made[-1])])
        if made[-1] and longest * (len(made[-1]) + 1) > batch_tokens:
            made.append([])
        made[-1].append(example)
    rng.shuffle(made)
    return made


def collate(
    batch: Sequence[Example], *, pad_id: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(ids, mask, labels): int64 of shape (n, longest), (n, longest), (n,)."""
    longest = max(len(example.ids) for example in batch)
    ids = torch.full((len(batch), longest), pad_id, dtype=torch.int64)
    mask = torch.zeros((len(batch), longest), dtype=torch.int64)
    for row, example in enumerate(batch):
        ids[row, : len(example.ids)] = torch.tensor(example.ids)
        mask[row, : len(example.ids)] = 1
    return ids, mask, torch.tensor([example.label for example in batch])


def _schedule(step: int, total: int, warmup_share: float) -> float:
    warmup = max(1, int(total * warmup_share))
    return step / warmup if step < warmup else max(0.0, (total - step) / max(1, total - warmup))


def fit(
    model: Any,
    examples: Sequence[Example],
    recipe: Recipe,
    folder: Path,
    *,
    pad_id: int,
) -> None:
    """Train `model` in place; write `log.jsonl` and `checkpoint.pt` under `folder`.

    A run that finds a checkpoint of the same recipe and data size goes on from its step.
    """
    torch.manual_seed(recipe.seed)
    torch.set_flush_denormal(True)  # vanishing optimizer moments are slow to compute with
    rng = random.Random(recipe.seed)
    plan = [
        batch
        for _ in range(recipe.epochs)
        for batch in batches(examples, batch_tokens=recipe.batch_tokens, rng=rng)
    ]
    decay = [p for p in model.parameters() if p.ndim >= 2]
    plain = [p for p in model.parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW(  # fused: one pass over memory a step
        [
            {"params": decay, "weight_decay": recipe.weight_decay},
            {"params": plain, "weight_decay": 0.0},
        ],
        lr=recipe.learning_rate,
        fused=True,
    )
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: _schedule(step, len(plan), recipe.warmup_share)
    )
    key = {"recipe": asdict(recipe), "examples": len(examples), "steps": len(plan)}
    checkpoint = folder / "checkpoint.pt"
    start = 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        if state["key"] == json.dumps(key):
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            scheduler.load_state_dict(state["scheduler"])
            start = state["step"]
    folder.mkdir(parents=True, exist_ok=True)
    model.train()
    began = saved = time.monotonic()
    losses: list[float] = []
    with (folder / "log.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps({"event": "start", "step": start, **key}) + "\n")
        for step, batch in enumerate(plan[start:], start=start + 1):
            ids, mask, labels = collate(batch, pad_id=pad_id)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=recipe.bfloat16):
                logits = model(input_ids=ids, attention_mask=mask).logits.float()
            loss = torch.nn.functional.cross_entropy(
                logits, labels, label_smoothing=recipe.label_smoothing
            )
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
            now = time.monotonic()
            if step % 20 == 0 or step == len(plan):
                mean = math.fsum(losses) / len(losses)
                losses.clear()
                log.write(
                    json.dumps(
                        {
                            "step": step,
                            "loss": round(mean, 4),
                            "seconds": round(now - began),
                        }
                    )
                    + "\n"
                )
                log.flush()
            if now - saved > recipe.checkpoint_minutes * 60:
                saved = now
                part = checkpoint.with_suffix(".part")
                torch.save(
                    {
                        "key": json.dumps(key),
                        "step": step,
                        "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                        "scheduler": scheduler.state_dict(),
                    },
                    part,
                )
                part.replace(checkpoint)
    model.eval()
