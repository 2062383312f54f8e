"""The embedded generator: a tiny model that the tests write, and SmolLM2 where it was fetched."""

import asyncio
import gc
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import GenerationError, InputError
from equipoise.generation import LocalGenerator, load_generator
from equipoise.generation.models import MODELS, model_path
from equipoise.prompt import COMPACT, render_prompt
from equipoise.settings import Settings
from equipoise.types import Generator, Outcome

from .tiny_gguf import write_tiny_gguf

pytest.importorskip("xllamacpp")

SMOLLM2 = model_path("smollm2")
TEMPLATE_TOKENS = len("user\n\nassistant\n") + 3  # the words of the chat template and its marks


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def generator(tiny: Path) -> LocalGenerator:
    return LocalGenerator(tiny, context_tokens=512, max_tokens=20)


def test_text_comes_back_with_its_tokens(generator: LocalGenerator) -> None:
    answer = generator.generate("hello there")
    assert isinstance(generator, Generator)
    assert answer.outcome is Outcome.ANSWERED
    assert answer.text
    assert answer.model == "local:tiny.gguf"
    assert answer.output_tokens == 20
    assert answer.attempts == 1
    assert answer.latency_ms > 0
    assert "cut after 20 tokens" in answer.detail


def test_chat_template_is_put_around_the_prompt(generator: LocalGenerator) -> None:
    # One token a character: what is more than the prompt's own length is the template.
    assert generator.generate("hello").input_tokens == 5 + TEMPLATE_TOKENS


@pytest.mark.parametrize(
    "mark", ["<|im_end|>", "<|im_start|>system", "<|endoftext|>", "</s>", "[INST]", "[/INST]"]
)
def test_turn_marks_inside_a_document_are_plain_text(generator: LocalGenerator, mark: str) -> None:
    plain = generator.generate("hello").input_tokens
    marked = generator.generate(f"hello{mark}").input_tokens
    assert plain is not None
    assert marked == plain + len(mark) + 1  # each character a token of its own, and the space


def test_numbers_in_brackets_and_comparisons_stay_as_they_are(generator: LocalGenerator) -> None:
    text = "[1] a < b and <5 > x [A] [a]"
    assert generator.generate(text).input_tokens == len(text) + TEMPLATE_TOKENS


def test_prompt_that_does_not_fit_is_an_error_and_is_not_cut(generator: LocalGenerator) -> None:
    answer = generator.generate("x" * 600)
    assert (answer.outcome, answer.text) == (Outcome.ERROR, "")
    assert f"{600 + TEMPLATE_TOKENS} tokens" in answer.detail
    assert "context holds 512" in answer.detail
    assert generator.generate("hello").outcome is Outcome.ANSWERED  # and the next one is well


def test_answer_that_reaches_the_end_of_the_context_says_so(tiny: Path) -> None:
    small = LocalGenerator(tiny, context_tokens=512, max_tokens=400)
    answer = small.generate("x" * 400)
    assert answer.output_tokens is not None
    assert answer.output_tokens < 400
    assert f"cut after {answer.output_tokens} tokens" in answer.detail


def test_equal_prompts_give_equal_answers_whatever_came_before(tiny: Path) -> None:
    one, two = LocalGenerator(tiny, max_tokens=30), LocalGenerator(tiny, max_tokens=30)
    first = one.generate("same words").text
    one.generate("same words, and others")
    assert one.generate("same words").text == first
    assert two.generate("same words").text == first
    assert two.generate("other words").text != first


def test_seed_fixes_the_draw_above_temperature_zero(tiny: Path) -> None:
    def draw(seed: int) -> str:
        return LocalGenerator(tiny, max_tokens=30, temperature=1.0, seed=seed).generate("Q").text

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_threads_share_one_generator(generator: LocalGenerator) -> None:
    prompts = [f"prompt number {n}" for n in range(12)]
    serial = [generator.generate(prompt).text for prompt in prompts]
    found: dict[str, str] = {}
    threads = [
        threading.Thread(target=lambda p=p: found.update({p: generator.generate(p).text}))
        for p in prompts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [found[prompt] for prompt in prompts] == serial


def test_event_loop_goes_on_while_the_model_writes(tiny: Path) -> None:
    writer = LocalGenerator(tiny, context_tokens=4096, max_tokens=1000)
    ticks = 0

    async def main() -> None:
        nonlocal ticks
        task = asyncio.ensure_future(writer.agenerate("Q"))
        while not task.done():
            ticks += 1
            await asyncio.sleep(0.005)
        assert task.result().output_tokens == 1000

    asyncio.run(main())
    assert ticks > 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent another way there")
def test_interrupt_is_heard_while_the_model_writes(tiny: Path) -> None:
    writer = LocalGenerator(tiny, context_tokens=32768, max_tokens=30000)
    timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        writer.generate("Q")
    timer.join()
    assert writer.generate("x" * 40000).outcome is Outcome.ERROR  # it is free again


def test_nothing_is_written_to_the_terminal(tiny: Path, capfd: pytest.CaptureFixture[str]) -> None:
    writer = LocalGenerator(tiny, context_tokens=512, max_tokens=5)
    writer.generate("Q")
    writer.generate("x" * 1000)
    del writer
    gc.collect()
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads Linux's list of sockets")
def test_no_port_is_opened(tiny: Path) -> None:
    def listening(pid: int) -> set[str]:
        lines = [
            line.split()
            for name in ("tcp", "tcp6")
            for line in Path("/proc/net", name).read_text().splitlines()[1:]
        ]
        inodes = {f"socket:[{line[9]}]" for line in lines if line[3] == "0A"}
        return inodes & _open_files(pid)

    before, older = listening(os.getpid()), _children(os.getpid())
    writer = LocalGenerator(tiny, max_tokens=2)
    assert writer.generate("Q").outcome is Outcome.ANSWERED
    assert listening(os.getpid()) == before
    (child,) = set(_children(os.getpid())) - set(older)
    assert any(name.startswith("socket:") for name in _open_files(child))  # we did look there
    assert listening(child) == set()


def _open_files(pid: int) -> set[str]:
    kept = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            kept.add(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue  # the descriptor of this very listing
    return kept


def _children(pid: int) -> list[int]:
    """The processes with a model that `pid` started, those still running."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == pid and b"_llama.py" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # it ended meanwhile
    return found


def test_nothing_is_left_in_the_temporary_folder(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    writer = LocalGenerator(tiny, max_tokens=2)
    writer.generate("Q")
    assert list(tmp_path.iterdir())
    del writer
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_missing_model_names_the_command_that_fetches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(GenerationError, match="run: equipoise models pull smollm2"):
        LocalGenerator()
    with pytest.raises(GenerationError, match=r"none\.gguf.*check the path"):
        LocalGenerator(tmp_path / "none.gguf")


def test_fetched_model_that_is_cut_or_broken_says_to_fetch_it_again(
    tmp_path: Path, tiny: Path
) -> None:
    again = "run: equipoise models pull smollm2"
    settings = Settings(cache_dir=tmp_path)
    file = model_path("smollm2", cache_dir=tmp_path)
    file.parent.mkdir()
    file.write_bytes(tiny.read_bytes())
    size = MODELS["smollm2"].size_bytes
    with pytest.raises(GenerationError, match=rf"{tiny.stat().st_size} of {size} bytes.*{again}"):
        load_generator("local", settings=settings)
    file.write_bytes(b"GGUF" + b"\xff" * 100)
    os.truncate(file, size)
    with pytest.raises(GenerationError, match=again):
        load_generator("local", settings=settings)


def test_local_with_a_path_is_that_file(tiny: Path) -> None:
    generator = load_generator(f"local:{tiny}", settings=Settings(max_tokens=7))
    assert isinstance(generator, LocalGenerator)
    assert generator.generate("Q").output_tokens == 7
    with pytest.raises(GenerationError, match=r"none\.gguf.*check the path"):
        load_generator("local:none.gguf")
    with pytest.raises(InputError, match="must name a GGUF file"):
        load_generator("local: ")


def test_broken_files_are_refused(tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(GenerationError, match="must be a GGUF model file"):
        LocalGenerator(tmp_path / "text.gguf")
    (tmp_path / "half.gguf").write_bytes(tiny.read_bytes()[:5000])
    with pytest.raises(GenerationError, match=r"could not be loaded.*broken or not whole"):
        LocalGenerator(tmp_path / "half.gguf")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"threads": 0}, "threads"),
        ({"context_tokens": 0}, "context_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": "x"}, "temperature"),
        ({"temperature": None}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"seed": "x"}, "seed"),
    ],
)
def test_local_numbers_out_of_range_are_named(
    tiny: Path, options: dict[str, Any], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        LocalGenerator(tiny, **options)


@pytest.mark.parametrize("prompt", ["", " \n", None])
def test_local_blank_prompt_is_refused(generator: LocalGenerator, prompt: Any) -> None:
    with pytest.raises(InputError, match="prompt"):
        generator.generate(prompt)


@pytest.mark.parametrize("text", ["\ud800 x", "x\x00y", "\u202eabc", "\U0001f600", "e\u0301"])
def test_odd_characters_are_no_exception(generator: LocalGenerator, text: str) -> None:
    assert generator.generate(text).outcome is Outcome.ANSWERED


@pytest.mark.slow
@pytest.mark.skipif(not SMOLLM2.is_file(), reason="needs: equipoise models pull smollm2")
def test_smollm2_writes_sentences_about_five_documents() -> None:
    documents = [
        "Free buses put money back into the pockets of those who own no car.",
        "Free buses fill with people who used to walk, and few drivers change.",
        "Fares pay for a good part of the network; without them taxes must rise.",
        "Without fares there are no ticket machines, inspectors or fines.",
        "Several towns have made local buses free; the schemes differ.",
    ]
    writer = LocalGenerator(max_tokens=120)
    prompt = render_prompt("Should buses be free?", documents, template=COMPACT)
    started = time.perf_counter()
    answer = writer.generate(prompt)
    assert answer.outcome is Outcome.ANSWERED
    assert answer.latency_ms <= (time.perf_counter() - started) * 1000.0
    assert len(answer.text.split()) >= 20
    assert writer.generate(prompt).text == answer.text
