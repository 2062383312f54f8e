"""How the embedded model ends: dropped, unused, interrupted, or with its owner killed."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from equipoise.generation import LocalGenerator
from equipoise.types import Outcome

from .tiny_gguf import write_tiny_gguf

pytest.importorskip("xllamacpp")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent another way")

SOURCE = Path(__file__).resolve().parents[2] / "src"
LONG = "LocalGenerator(sys.argv[1], context_tokens=32768, max_tokens=30000)"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("model") / "tiny.gguf")


def start(code: str, model: Path, temporary: Path) -> "subprocess.Popen[str]":
    """A Python of its own that runs `code`, with its temporary files in `temporary`."""
    temporary.mkdir(exist_ok=True)
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, "-c", f"import sys\nfrom equipoise.generation import *\n{code}", model],
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def interrupted(code: str, model: Path, temporary: Path) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of `code`, with a Ctrl-C half a second after its first line.

    It must be over 20 seconds later.
    """
    with start(code, model, temporary) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "loaded\n"
        time.sleep(0.5)
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does it
        try:
            said, errors = child.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
    return child.returncode, said, errors


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pid_of(generator: LocalGenerator) -> int:
    assert generator._process is not None
    return generator._process.pid


@pytest.mark.slow
@pytest.mark.parametrize("end", ["del g", "g.close()", "", "sys.exit(0)"])
def test_model_that_just_loaded_can_be_dropped(tiny: Path, tmp_path: Path, end: str) -> None:
    for _ in range(3):  # the hang it guards against came in about half of the runs
        with start(f"g = LocalGenerator(sys.argv[1])\n{end}", tiny, tmp_path / "t") as child:
            try:
                said = child.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                child.kill()
                raise
        assert (child.returncode, *said) == (0, "", "")
        assert not list((tmp_path / "t").iterdir())


@pytest.mark.slow
def test_interrupt_while_the_model_writes_is_a_plain_keyboard_interrupt(
    tiny: Path, tmp_path: Path
) -> None:
    code = f"""
g = {LONG}
print("loaded", flush=True)
try:
    g.generate("Q")
except KeyboardInterrupt:
    print("caught", g.generate("x" * 40000).outcome.value)
"""
    assert interrupted(code, tiny, tmp_path / "t") == (0, "caught error\n", "")
    assert not list((tmp_path / "t").iterdir())


@pytest.mark.slow
def test_interrupt_that_nobody_catches_ends_the_program_without_a_crash(
    tiny: Path, tmp_path: Path
) -> None:
    code = f"g = {LONG}\nprint('loaded', flush=True)\ng.generate('Q')"
    status, said, errors = interrupted(code, tiny, tmp_path / "t")
    assert (status, said) == (-signal.SIGINT, "")
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert not list((tmp_path / "t").iterdir())


@pytest.mark.slow
def test_interrupt_ends_an_awaited_answer_too(tiny: Path, tmp_path: Path) -> None:
    code = f"""
import asyncio
g = {LONG}
print("loaded", flush=True)
try:
    asyncio.run(g.agenerate("Q"))
except KeyboardInterrupt:
    print("caught")
"""
    assert interrupted(code, tiny, tmp_path / "t") == (0, "caught\n", "")


@pytest.mark.slow
def test_model_goes_when_its_owner_is_killed(tiny: Path, tmp_path: Path) -> None:
    code = f"""
g = {LONG}
print(g._process.pid, flush=True)
g.generate("Q")
"""
    with start(code, tiny, tmp_path / "t") as child:
        assert child.stdout is not None
        pid = int(child.stdout.readline())
        assert running(pid)
        child.kill()
    for _ in range(200):
        if not any((tmp_path / "t").iterdir()):
            break
        time.sleep(0.05)
    assert not list((tmp_path / "t").iterdir())


def test_close_frees_the_model_and_the_next_call_loads_it_again(tiny: Path) -> None:
    with LocalGenerator(tiny, max_tokens=5) as writer:
        first, pid = writer.generate("Q"), pid_of(writer)
        writer.close()
        assert not running(pid)
        assert writer.generate("Q").text == first.text
        pid = pid_of(writer)
    assert not running(pid)


def test_model_whose_process_died_is_an_error_then_loaded_again(tiny: Path) -> None:
    writer = LocalGenerator(tiny, context_tokens=32768, max_tokens=30000)
    timer = threading.Timer(0.3, os.kill, (pid_of(writer), signal.SIGKILL))
    timer.start()
    answer = writer.generate("Q")
    assert answer.outcome is Outcome.ERROR
    assert f"exit status -{signal.SIGKILL.value}" in answer.detail
    assert "context holds 32768" in writer.generate("x" * 40000).detail  # a new one reads prompts


def test_cancelled_answer_is_no_longer_written(tiny: Path) -> None:
    writer = LocalGenerator(tiny, context_tokens=32768, max_tokens=30000)
    pid = pid_of(writer)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(writer.agenerate("Q"), 0.3)

    asyncio.run(main())  # waits for its threads
    assert not running(pid)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_end_of_a_fork_leaves_the_model_to_its_owner(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    writer = LocalGenerator(tiny, max_tokens=5)
    first = writer.generate("Q").text
    pid = pid_of(writer)
    child = os.fork()
    if child == 0:
        del writer
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert writer.generate("Q").text == first
    assert pid_of(writer) == pid
    assert list(tmp_path.iterdir())  # where the process has its socket
