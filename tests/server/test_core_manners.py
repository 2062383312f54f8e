"""Keys, limits, the queue, timeouts, a stop in the middle, logs, spans, and the event loop."""

import asyncio
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from equipoise import Balancer
from equipoise.errors import InputError
from equipoise.server import Limits, create_app
from equipoise.server.auth import Keys, read_keys
from equipoise.server.logs import start_logging
from equipoise.testing import FakeDetector
from equipoise.types import StanceScore

Serving = Callable[[Any], AbstractContextManager[str]]
BODY = {"question": "Should it be legal?", "documents": ["a", "b"], "gate": "always"}


class Slow(FakeDetector):
    """Labels everything neutral, and waits for `go` first."""

    def __init__(self) -> None:
        super().__init__({}, default="neutral")
        self.go = threading.Event()
        self.entered = threading.Semaphore(0)

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        self.entered.release()
        assert self.go.wait(30)
        return super().detect(question, texts)


def plain(**options: Any) -> Any:
    return create_app(Balancer(detector=FakeDetector({}, default="neutral")), **options)


class TestKeys:
    def test_every_route_but_the_open_ones_needs_a_key(self, serving: Serving) -> None:
        with serving(plain(keys=Keys(["k-1", "k-2"]))) as url:
            for path in ("/metrics", "/nowhere"):
                assert httpx.get(url + path).status_code == 401, path
            refused = httpx.post(f"{url}/v1/balance", json=BODY)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
            assert "send Authorization: Bearer" in refused.json()["message"]
            wrong = httpx.get(f"{url}/metrics", headers={"Authorization": "Bearer k-3"})
            assert "does not know that key" in wrong.json()["message"]
            for key in ("k-1", "k-2"):
                headers = {"Authorization": f"Bearer {key}"}
                assert httpx.post(f"{url}/v1/balance", json=BODY, headers=headers).is_success
            for path in ("/health", "/health/live", "/openapi.json"):
                assert httpx.get(url + path).status_code == 200, path

    @pytest.mark.parametrize(
        "header",
        ["", "Bearer", "Bearer ", "Bearer k", "Basic k-1", "k-1", "Bearer k-1 x", "bearer\tk-1"],
    )
    def test_other_headers_do_not_open(self, header: str) -> None:
        assert not Keys(["k-1"]).open_to(header)

    def test_no_keys_leave_it_open_and_no_key_shows(self) -> None:
        assert Keys().open_to(None)
        assert "k-1" not in repr(vars(Keys(["k-1"])))

    def test_keys_come_from_a_file_and_a_variable(self, tmp_path: Path) -> None:
        file = tmp_path / "keys"
        file.write_text("# ours\n one \n\ntwo\n")
        keys = read_keys(file, "MY_KEYS", {"MY_KEYS": "three, four"})
        assert all(keys.open_to(f"Bearer {key}") for key in ("one", "two", "three", "four"))
        assert not keys.open_to("Bearer # ours")

    def test_a_source_without_keys_does_not_open_the_server(self, tmp_path: Path) -> None:
        (tmp_path / "keys").write_text("# none yet\n")
        with pytest.raises(InputError, match="must hold at least one key"):
            read_keys(tmp_path / "keys", None)
        with pytest.raises(InputError, match="environment variable MY_KEYS"):
            read_keys(None, "MY_KEYS", {})
        with pytest.raises(InputError, match="cannot be read"):
            read_keys(tmp_path / "missing", None)
        with pytest.raises(InputError, match="visible ASCII"):
            Keys(["a b"])


class TestLimits:
    def test_each_limit_is_named_by_its_refusal(self, serving: Serving) -> None:
        limits = Limits(
            body_bytes=5_000, documents=3, document_characters=100, question_characters=50
        )
        with serving(plain(limits=limits)) as url:

            def told(**changes: Any) -> tuple[int, str]:
                answer = httpx.post(f"{url}/v1/balance", json={**BODY, **changes})
                return answer.status_code, answer.json()["message"]

            status, message = told(documents=["x" * 6_000])
            assert (status, "5000 bytes (body_bytes)" in message) == (413, True)
            status, message = told(documents=["a"] * 4)
            assert (status, "3 documents (documents), got 4" in message) == (422, True)
            status, message = told(documents=["a", "b" * 101])
            assert (status, "document 2 has 101" in message) == (422, True)
            status, message = told(question="q" * 51)
            assert (status, "(question_characters)" in message) == (422, True)
            within = {**BODY, "documents": ["a", "b", "c" * 100]}
            assert httpx.post(f"{url}/v1/balance", json=within).status_code == 200

    def test_a_body_without_a_declared_size_is_cut_off_too(self, serving: Serving) -> None:
        def parts() -> Iterator[bytes]:
            for _ in range(1_000):
                yield b" " * 1_000

        with serving(plain(limits=Limits(body_bytes=5_000))) as url:
            answer = httpx.post(f"{url}/v1/balance", content=parts())
            assert answer.status_code == 413

    def test_a_body_that_does_not_arrive_is_given_up(self, serving: Serving) -> None:
        with serving(plain(limits=Limits(timeout_s=0.3))) as url:
            host, port = url.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port))) as line:
                line.sendall(b"POST /v1/balance HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
                line.settimeout(10)
                assert b"408" in line.recv(4_096).split(b"\r\n")[0]

    @pytest.mark.parametrize(
        ("field", "value"),
        [("workers", 0), ("queue", -1), ("timeout_s", 0), ("documents", True), ("remembered", 1.5)],
    )
    def test_a_limit_out_of_range_is_refused(self, field: str, value: Any) -> None:
        with pytest.raises(InputError, match=f"Limits.{field} must be"):
            Limits(**{field: value})


class TestQueue:
    def test_what_does_not_fit_the_queue_is_503_and_the_rest_is_served(
        self, serving: Serving
    ) -> None:
        slow = Slow()
        app = create_app(Balancer(detector=slow), limits=Limits(workers=2, queue=3))
        with serving(app) as url, ThreadPoolExecutor(5) as pool:
            running = [pool.submit(httpx.post, f"{url}/v1/balance", json=BODY) for _ in range(5)]
            for _ in range(2):
                assert slow.entered.acquire(timeout=10)
            _until(lambda: app.state.service._in_flight == 5)
            refused = httpx.post(f"{url}/v1/balance", json=BODY)
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) >= 1
            assert httpx.get(f"{url}/health/live").status_code == 200
            slow.go.set()
            assert [future.result(30).status_code for future in running] == [200] * 5
            _until(lambda: app.state.service._in_flight == 0)
            assert httpx.post(f"{url}/v1/balance", json=BODY).status_code == 200

    def test_what_cannot_be_done_in_time_is_503_at_once(self, serving: Serving) -> None:
        slow = Slow()
        app = create_app(Balancer(detector=slow), limits=Limits(workers=2, timeout_s=30))
        app.state.service._pace.first_guess(100.0)  # characters a second
        large = {**BODY, "documents": ["x" * 1_000, "y" * 1_000]}
        with serving(app) as url, ThreadPoolExecutor(2) as pool:
            first = pool.submit(httpx.post, f"{url}/v1/balance", json=large, timeout=60)
            assert slow.entered.acquire(timeout=10)
            refused = httpx.post(f"{url}/v1/balance", json=large)
            assert refused.status_code == 503
            assert "about 40 seconds" in refused.json()["message"]
            assert refused.headers["retry-after"] == "10"
            small = pool.submit(httpx.post, f"{url}/v1/balance", json=BODY, timeout=60)
            assert slow.entered.acquire(timeout=10)
            slow.go.set()
            assert [first.result().status_code, small.result().status_code] == [200, 200]

    def test_a_request_out_of_time_is_504_and_keeps_its_place_until_it_ends(
        self, serving: Serving
    ) -> None:
        slow = Slow()
        limits = Limits(workers=1, queue=1, timeout_s=0.3)
        app = create_app(Balancer(detector=slow), limits=limits)
        with serving(app) as url, ThreadPoolExecutor(2) as pool:
            both = list(
                pool.map(lambda _: httpx.post(f"{url}/v1/balance", json=BODY, timeout=20), range(2))
            )
            assert [answer.status_code for answer in both] == [504, 504]
            assert "0.3 seconds (timeout_s)" in both[0].json()["message"]
            # The one that waited is gone; the one that runs is still in its thread.
            _until(lambda: app.state.service._in_flight == 1)
            slow.go.set()
            _until(lambda: app.state.service._in_flight == 0)
            assert httpx.post(f"{url}/v1/balance", json=BODY).status_code == 200
            metrics = httpx.get(f"{url}/metrics").text
        assert "equipoise_requests_waiting 0.0" in metrics
        assert "equipoise_requests_running 0.0" in metrics
        assert 'equipoise_requests_refused_total{reason="timeout"} 2.0' in metrics

    def test_nothing_more_is_labelled_for_a_request_out_of_time(self, serving: Serving) -> None:
        slow = Slow()
        slow.lazy_batch = 1  # type: ignore[attr-defined]
        app = create_app(Balancer(detector=slow), limits=Limits(workers=1, timeout_s=0.3))
        documents = [f"text {number}" for number in range(20)]
        with serving(app) as url:
            body = {**BODY, "documents": documents}
            assert httpx.post(f"{url}/v1/balance", json=body, timeout=20).status_code == 504
            slow.go.set()
            _until(lambda: app.state.service._in_flight == 0)
        assert len(slow.texts) == 1  # the one that was being read


class TestHosts:
    def test_another_name_is_refused_where_names_are_given(self, serving: Serving) -> None:
        with serving(plain(hosts=["127.0.0.1", "[::1]"])) as url:
            assert httpx.get(f"{url}/health").status_code == 200
            assert httpx.get(f"{url}/health", headers={"Host": "[::1]:80"}).status_code == 200
            refused = httpx.get(f"{url}/health", headers={"Host": "evil.example:80"})
            assert refused.status_code == 421
            assert "--allow-host" in refused.json()["message"]


class TestLogs:
    def test_a_line_a_request_without_its_text(self, serving: Serving) -> None:
        stream = io.StringIO()
        with _logging_to(stream), serving(plain()) as url:
            secret = {**BODY, "question": "Should the secret be told?", "documents": ["my secret"]}
            answer = httpx.post(
                f"{url}/v1/balance", json=secret, headers={"X-Request-Id": "mine-1"}
            )
            assert answer.headers["x-request-id"] == "mine-1"
            odd = httpx.get(f"{url}/health", headers={"X-Request-Id": 'a"b c'})
            assert odd.headers["x-request-id"] != 'a"b c'
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        line = next(line for line in lines if line.get("request_id") == "mine-1")
        assert (line["route"], line["status"], line["method"]) == ("/v1/balance", 200, "POST")
        assert line["ms"] > 0
        assert "secret" not in stream.getvalue()

    def test_text_is_logged_when_asked_for(self, serving: Serving) -> None:
        stream = io.StringIO()
        with _logging_to(stream), serving(plain(log_text=True)) as url:
            httpx.post(f"{url}/v1/balance", json={**BODY, "documents": ["my secret"]})
        assert "my secret" in stream.getvalue()

    def test_a_fault_is_500_with_an_id_and_the_reason_in_the_log_only(
        self, serving: Serving
    ) -> None:
        app = plain()

        def broken(*given: Any) -> None:
            raise ZeroDivisionError("the inner reason")

        app.state.service.balance = broken
        stream = io.StringIO()
        with _logging_to(stream), serving(app) as url:
            answer = httpx.post(f"{url}/v1/balance", json=BODY)
        assert answer.status_code == 500
        assert "inner reason" not in answer.text
        assert "Traceback" not in answer.text
        request_id = answer.headers["x-request-id"]
        assert request_id in answer.json()["message"]
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        fault = next(line for line in lines if "traceback" in line)
        assert fault["request_id"] == request_id
        assert "the inner reason" in fault["traceback"]


class TestSpans:
    def test_a_request_and_its_stages_are_spans_of_the_callers_trace(
        self, serving: Serving
    ) -> None:
        code = Path(__file__).with_name("spans_program.py")
        done = subprocess.run(
            [sys.executable, str(code)], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        spans = {span["name"]: span for span in map(json.loads, done.stdout.splitlines())}
        request, stage = spans["POST /v1/balance"], spans["equipoise.balance"]
        assert request["parent"] == "00f067aa0ba902b7"
        assert stage["parent"] == request["id"]
        assert stage["attributes"]["equipoise.documents"] == 2
        assert request["attributes"]["http.response.status_code"] == 200
        assert "Should it" not in done.stdout


_CLIENTS = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
import httpx
url, bodies = sys.argv[1], json.load(sys.stdin)
with httpx.Client(base_url=url, timeout=300) as client, ThreadPoolExecutor(len(bodies)) as pool:
    answers = pool.map(lambda body: client.post("/v1/balance", json=body).status_code, bodies)
    print(json.dumps(list(answers)))
"""


class TestLoop:
    @pytest.mark.slow
    def test_the_event_loop_turns_while_32_requests_run(self, serving: Serving) -> None:
        """With the bundled detector at work, for clients in a process of their own."""
        from equipoise.data import contested

        app = create_app(limits=Limits(remembered=0))
        topics = contested()
        bodies = [
            {"question": topic.question, "documents": [d.text for d in topic.documents]}
            for topic in (topics[number % len(topics)] for number in range(32))
        ]
        stalls: list[float] = []
        beating: list[asyncio.Task[None]] = []

        async def heartbeat() -> None:
            while True:
                began = time.perf_counter()
                await asyncio.sleep(0.005)
                if app.state.service._in_flight:
                    stalls.append(time.perf_counter() - began - 0.005)

        async def watched(scope: Any, receive: Any, send: Any) -> None:
            if not beating:
                beating.append(asyncio.create_task(heartbeat()))
            await app(scope, receive, send)

        with serving(watched) as url:
            _until(lambda: app.state.service.ready)
            done = subprocess.run(
                [sys.executable, "-c", _CLIENTS, url],
                input=json.dumps(bodies),
                capture_output=True,
                text=True,
                timeout=300,
                check=True,
            )
            beating[0].get_loop().call_soon_threadsafe(beating[0].cancel)
        assert json.loads(done.stdout) == [200] * 32
        assert len(stalls) > 100
        # On a machine that others use, a few turns wait for a core: those are not the loop's.
        assert sorted(stalls)[int(0.99 * len(stalls))] < 0.05


class TestProcess:
    def test_a_stop_finishes_what_is_running(self, tmp_path: Path) -> None:
        with _process("--timeout", "60", "--workers", "4") as (url, process):
            from equipoise.data import contested

            documents = [d.text for topic in contested()[:3] for d in topic.documents]
            body = {"question": contested()[0].question, "documents": documents, "k": 30}
            with ThreadPoolExecutor(4) as pool:
                running = [
                    pool.submit(httpx.post, f"{url}/v1/balance", json=body, timeout=120)
                    for _ in range(4)
                ]
                _until(lambda: _running(url) == 4)
                process.send_signal(signal.SIGTERM)
                assert [future.result().status_code for future in running] == [200] * 4
            assert process.wait(60) == 0
            with pytest.raises(httpx.ConnectError):
                httpx.get(f"{url}/health")

    def test_it_binds_to_this_machine_alone_and_answers_to_its_names(self) -> None:
        with _process() as (url, _):
            assert url.startswith("http://127.0.0.1:")
            assert httpx.get(f"{url}/health", headers={"Host": "evil.example"}).status_code == 421

    def test_a_model_that_does_not_load_ends_it_with_the_reason(self, tmp_path: Path) -> None:
        done = subprocess.run(
            [*_COMMAND, "--port", "0", "--detector", str(_damaged(tmp_path))],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 1
        assert "equipoise: " in done.stderr.splitlines()[-1]
        assert "Serving on" in done.stderr  # the page and /health/live answered meanwhile

    def test_an_address_that_is_taken_is_misuse(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            done = subprocess.run(
                [*_COMMAND, "--port", port], capture_output=True, text=True, check=False, timeout=60
            )
        assert done.returncode == 2
        assert f"cannot bind 127.0.0.1:{port}" in done.stderr
        assert "Traceback" not in done.stderr


def _damaged(folder: Path) -> Path:
    """A model's folder whose weights are no model."""
    import shutil

    from equipoise.stance.folder import BUNDLED

    made = folder / "model"
    shutil.copytree(BUNDLED / "small", made)
    (made / "SHA256SUMS").unlink()
    next(made.glob("onnx/*.onnx")).write_bytes(b"no model")
    return made


_COMMAND = [sys.executable, "-c", "from equipoise.cli import main; main()", "serve"]


@contextmanager
def _process(*options: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A server of its own process on a free port."""
    process = subprocess.Popen(
        [*_COMMAND, "--port", "0", *options],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "EQUIPOISE_DETECTOR": "small"},
    )
    assert process.stderr is not None
    try:
        url = next(line.split()[-1] for line in process.stderr if line.startswith("Serving on"))
        reading = threading.Thread(target=process.stderr.read, daemon=True)
        reading.start()
        yield url, process
    finally:
        process.kill()
        process.wait(10)
        reading.join(10)
        process.stderr.close()


def _running(url: str) -> int:
    text = httpx.get(f"{url}/metrics").text
    line = next(
        line for line in text.splitlines() if line.startswith("equipoise_requests_running ")
    )
    return int(float(line.split()[1]))


def _until(holds: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.01)


@contextmanager
def _logging_to(stream: io.StringIO) -> Iterator[None]:
    import logging

    names = ("equipoise", "uvicorn")
    before = {
        name: (logging.getLogger(name).handlers, logging.getLogger(name).level) for name in names
    }
    start_logging(stream)
    try:
        yield
    finally:
        for name, (handlers, level) in before.items():
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate = handlers, True
            logger.setLevel(level)
