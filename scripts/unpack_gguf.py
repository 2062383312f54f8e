"""The embedded GGUF model as a Hugging Face folder, for answers in batches.

    python scripts/unpack_gguf.py OUT [--gguf FILE]
    equipoise lab answer PACK -o RUN --model hf/SmolLM2-135M-Instruct --batch 48 \
        -M model_path=OUT -M device=cpu -M do_sample=false -M dtype=bfloat16

llama.cpp answers one prompt at a time; transformers reads many together, which on a processor of
two cores is several times as fast. The weights are those of the file (4 bits a weight, unpacked to
bfloat16), the rest is not the same: sums are taken in another order and the penalty on repetition
covers the whole text and not the last 64 tokens. So the answers differ in wording from those of
`--model local`, and results name the two as two generators.

Needs: pip install 'transformers>=5.24' torch gguf accelerate
"""

import argparse
import json
from pathlib import Path

PENALTY = 1.1
"""On repetition, as in `equipoise.generation.local`: without it the model loops."""


def main() -> None:
    """Read the options, unpack, and say where."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder to make; must not be there")
    parser.add_argument("--gguf", type=Path, help="a GGUF file; without it the embedded model")
    given = parser.parse_args()
    if given.out.exists():
        parser.error(f"{given.out} must be a new folder, and is there already")
    file = given.gguf
    if file is None:
        from equipoise.generation.models import fetched_path

        file = fetched_path("smollm2")
    unpack(file, given.out)
    print(f"Wrote {given.out}: {sum(p.stat().st_size for p in given.out.iterdir()):,} bytes")


def unpack(file: Path, out: Path) -> None:
    """Write the model in `file` to the folder `out`, in bfloat16, with greedy generation set.

    Raises:
        OSError: the file is not there, or `out` cannot be written.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, GgufConfig

    where = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    model = AutoModelForCausalLM.from_pretrained(
        **where, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    tokenizer = AutoTokenizer.from_pretrained(**where)
    # Greedy, so that equal prompts get equal answers; a static cache is compiled once.
    model.generation_config = GenerationConfig(
        do_sample=False,
        repetition_penalty=PENALTY,
        cache_implementation="static",
        bos_token_id=model.config.bos_token_id,
        eos_token_id=model.config.eos_token_id,
        pad_token_id=model.config.eos_token_id,
    )
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    about = {"from": file.name, "bytes": file.stat().st_size, "dtype": "bfloat16"}
    (out / "unpacked.json").write_text(json.dumps(about) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
