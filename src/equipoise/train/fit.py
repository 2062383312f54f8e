"""One pass of training, with checkpoints that a stopped run continues from."""

import hashlib
import json
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from equipoise.train.batches import Example, batches, collate
from equipoise.train.encoder import Encoder
from equipoise.train.recipe import Recipe

Progress = Callable[[int, int, float], None]
"""Called with (step, steps, mean loss of the steps since the last call)."""
LOG_EVERY = 20


def device() -> torch.device:
    """The GPU where there is one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def fit(
    encoder: Encoder,
    examples: Sequence[Example],
    recipe: Recipe,
    folder: Path,
    *,
    progress: Progress | None = None,
) -> None:
    """Train the model in place; write `log.jsonl` and `checkpoint.pt` under `folder`.

    A run that finds a checkpoint of the same recipe and examples goes on from its step. The plan of
    batches depends on the seed alone, so it is the same plan.
    """
    torch.manual_seed(recipe.seed)
    plan = _plan(examples, recipe)
    where = device()
    model = encoder.model.to(where)
    optimizer, scheduler = _optimizer(model, recipe, len(plan))
    key = {"recipe": recipe.to_dict(), "examples": len(examples), "steps": len(plan)}
    key["digest"] = _digest(examples)
    checkpoint = folder / "checkpoint.pt"
    folder.mkdir(parents=True, exist_ok=True)
    parts = (model, optimizer, scheduler)
    start = _restored(checkpoint, parts, json.dumps(key))
    model.train()
    began = saved = time.monotonic()
    losses: list[float] = []
    tokens = 0
    with (folder / "log.jsonl").open("a", encoding="utf-8") as log, _without_denormals():
        log.write(json.dumps({"event": "start", "step": start, "device": str(where), **key}) + "\n")
        for step, batch in enumerate(plan[start:], start=start + 1):
            losses.append(_step(encoder, batch, recipe, where))
            tokens += sum(len(example.pair.ids) for example in batch)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
            now = time.monotonic()
            if step % LOG_EVERY == 0 or step == len(plan):
                mean = math.fsum(losses) / len(losses)
                losses.clear()
                entry = {"step": step, "loss": round(mean, 4), "seconds": round(now - began, 1)}
                log.write(json.dumps({**entry, "tokens": tokens}) + "\n")
                log.flush()
                if progress is not None:
                    progress(step, len(plan), mean)
            if now - saved > recipe.checkpoint_minutes * 60:
                saved = now
                _save(checkpoint, parts, json.dumps(key), step)
    _save(checkpoint, parts, json.dumps(key), len(plan))
    model.eval()


@contextmanager
def _without_denormals() -> Iterator[None]:
    """Vanishing optimizer moments count as 0: the processor is slow to compute with them.

    The setting is the process's, so it is taken back.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def plan_steps(examples: Sequence[Example], recipe: Recipe) -> int:
    """How many steps `fit` takes."""
    return len(_plan(examples, recipe))


def _plan(examples: Sequence[Example], recipe: Recipe) -> list[list[Example]]:
    rng = random.Random(recipe.seed)
    return [
        batch
        for _ in range(recipe.epochs)
        for batch in batches(examples, rows=recipe.batch_rows, tokens=recipe.batch_tokens, rng=rng)
    ]


def _digest(examples: Sequence[Example]) -> str:
    """Tells one set of examples from another: a checkpoint is for these and no others."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(example.pair.ids.tobytes())
        digest.update(repr(example.target).encode())
    return digest.hexdigest()[:16]


def _optimizer(model: Any, recipe: Recipe, steps: int) -> tuple[Any, Any]:
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": recipe.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    # fused: one pass over memory a step
    optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, fused=True)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: schedule(step, steps, recipe.warmup_share)
    )
    return optimizer, scheduler


def schedule(step: int, steps: int, warmup_share: float) -> float:
    """The share of the learning rate at a step: up in a line, then down in a line to 0.

    >>> [round(schedule(step, 10, 0.2), 2) for step in (0, 1, 2, 6, 10)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    warmup = max(1, int(steps * warmup_share))
    return step / warmup if step < warmup else max(0.0, (steps - step) / max(1, steps - warmup))


def _step(encoder: Encoder, batch: Sequence[Example], recipe: Recipe, where: torch.device) -> float:
    """The loss of one batch, its gradients left in the model."""
    inputs, targets, weights = collate(batch, pad_id=encoder.pad_id)
    given = {"input_ids": inputs.ids, "attention_mask": inputs.mask}
    if encoder.segments:
        given["token_type_ids"] = inputs.types
    tensors = {name: torch.from_numpy(values).to(where) for name, values in given.items()}
    with torch.autocast(where.type, dtype=torch.bfloat16, enabled=recipe.bfloat16):
        logits = encoder.model(**tensors).logits
    losses = torch.nn.functional.cross_entropy(
        logits.float(), torch.from_numpy(targets).to(where), reduction="none"
    )
    loss = (losses * torch.from_numpy(weights).to(where)).mean()
    loss.backward()
    return float(loss.item())


def _restored(checkpoint: Path, parts: tuple[Any, ...], key: str) -> int:
    """The step that the checkpoint was saved at, its states put into `parts`; 0 without one."""
    if not checkpoint.exists():
        return 0
    state = torch.load(checkpoint, weights_only=True, map_location=device())
    if state["key"] != key:
        return 0
    for part, saved in zip(parts, state["parts"], strict=True):
        part.load_state_dict(saved)
    if "rng" in state:  # without it, dropout draws other numbers than an unbroken run
        torch.set_rng_state(state["rng"]["cpu"].cpu())
        if "cuda" in state["rng"] and torch.cuda.is_available():
            torch.cuda.set_rng_state(state["rng"]["cuda"].cpu())
    return int(state["step"])


def _save(checkpoint: Path, parts: tuple[Any, ...], key: str, step: int) -> None:
    part = checkpoint.with_suffix(".part")
    rng = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        rng["cuda"] = torch.cuda.get_rng_state()
    states = [part.state_dict() for part in parts]
    torch.save({"key": key, "step": step, "parts": states, "rng": rng}, part)
    part.replace(checkpoint)
