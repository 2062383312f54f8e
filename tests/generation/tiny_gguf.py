"""Writes a tiny GGUF model: one random layer, one token for each printable ASCII character."""

import random
import struct
from collections.abc import Sequence
from pathlib import Path

WIDTH, HIDDEN, HEADS = 32, 64, 2
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# Byte-level BPE writes a space as U+0120 and a line feed as U+010A; other ASCII stands for itself.
CHARACTERS = ["\u010a", "\u0120", *map(chr, range(33, 127))]
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TOKENS = CHARACTERS + CONTROL


def write_tiny_gguf(path: Path, *, seed: int = 0, context: int = 32768) -> Path:
    """`path`, with a model of about 20,000 parameters that never ends by itself."""
    pairs = [
        _pair("general.architecture", STRING, "llama"),
        _pair("llama.context_length", UINT32, context),
        _pair("llama.embedding_length", UINT32, WIDTH),
        _pair("llama.block_count", UINT32, 1),
        _pair("llama.feed_forward_length", UINT32, HIDDEN),
        _pair("llama.attention.head_count", UINT32, HEADS),
        _pair("llama.attention.head_count_kv", UINT32, HEADS),
        _pair("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        _pair("llama.rope.dimension_count", UINT32, WIDTH // HEADS),
        _pair("llama.vocab_size", UINT32, len(TOKENS)),
        _pair("tokenizer.ggml.model", STRING, "gpt2"),
        _pair("tokenizer.ggml.pre", STRING, "gpt-2"),
        _array("tokenizer.ggml.tokens", STRING, TOKENS),
        _array("tokenizer.ggml.token_type", INT32, [1] * len(CHARACTERS) + [3] * len(CONTROL)),
        _array("tokenizer.ggml.merges", STRING, ["t h"]),
        _pair("tokenizer.ggml.bos_token_id", UINT32, TOKENS.index("<|im_start|>")),
        _pair("tokenizer.ggml.eos_token_id", UINT32, TOKENS.index("<|im_end|>")),
        _pair("tokenizer.chat_template", STRING, CHAT_TEMPLATE),
    ]
    rng = random.Random(seed)
    infos, data = b"", b""
    for name, shape in _shapes().items():
        values = _values(name, shape, rng)
        infos += _text(name) + struct.pack("<I", len(shape))
        infos += struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", 0, len(data))
        data += struct.pack(f"<{len(values)}f", *values)
        data += b"\0" * (-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(_shapes()), len(pairs)) + b"".join(pairs) + infos
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)
    return path


def _shapes() -> dict[str, tuple[int, ...]]:
    square, wide, narrow = (WIDTH, WIDTH), (WIDTH, HIDDEN), (HIDDEN, WIDTH)
    return {
        "token_embd.weight": (WIDTH, len(TOKENS)),
        "output_norm.weight": (WIDTH,),
        "output.weight": (WIDTH, len(TOKENS)),
        "blk.0.attn_norm.weight": (WIDTH,),
        "blk.0.attn_q.weight": square,
        "blk.0.attn_k.weight": square,
        "blk.0.attn_v.weight": square,
        "blk.0.attn_output.weight": square,
        "blk.0.ffn_norm.weight": (WIDTH,),
        "blk.0.ffn_gate.weight": wide,
        "blk.0.ffn_up.weight": wide,
        "blk.0.ffn_down.weight": narrow,
    }


def _values(name: str, shape: tuple[int, ...], rng: random.Random) -> list[float]:
    if len(shape) == 1:
        return [1.0] * shape[0]
    values = [rng.gauss(0.0, 0.5) for _ in range(shape[0] * shape[1])]
    if name == "output.weight":  # control tokens score 0 and never win against 96 random others
        values[len(CHARACTERS) * WIDTH :] = [0.0] * (len(CONTROL) * WIDTH)
    return values


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(kind: int, value: str | float) -> bytes:
    if isinstance(value, str):
        return _text(value)
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f"}[kind], value)


def _pair(key: str, kind: int, value: str | float) -> bytes:
    return _text(key) + struct.pack("<I", kind) + _value(kind, value)


def _array(key: str, kind: int, values: Sequence[str | int]) -> bytes:
    head = _text(key) + struct.pack("<IIQ", ARRAY, kind, len(values))
    return head + b"".join(_value(kind, value) for value in values)
