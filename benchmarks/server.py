"""What does the server add to a call of the library, and what do shared batches gain?

    python benchmarks/server.py latency [--requests 200]
    python benchmarks/server.py load [--clients 32] [--rounds 3]
    python benchmarks/server.py soak [--minutes 10]

Each starts `equipoise serve` as a process of its own on this machine, with the bundled detector.
Questions and documents are of the embedded corpus; each request has 30 documents.

latency: one request at a time. Added time is the client's time less `timings_ms.total`, which is
the library's own time for the same request, so that the noise of the model cancels.
load: 32 clients against a server that shares batches (8 workers), and, in turns, against one that
handles requests one by one (1 worker) and remembers nothing; once with questions that never come
twice, once with questions that four clients ask at about the same time.
soak: 8 clients for some minutes; memory of the server over time, and failures.
"""

import argparse
import itertools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx

from equipoise.data import clean_corpus, contested

DOCUMENTS = 30


@contextmanager
def served(*options: str) -> Iterator[tuple[httpx.Client, int]]:
    """A client of a server with these options, and the server's process id."""
    command = [sys.executable, "-c", "from equipoise.cli import main; main()", "serve"]
    process = subprocess.Popen(
        [*command, "--port", "0", *options], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        url = ""
        for line in process.stderr:
            if line.startswith("Serving on "):
                url = line.split()[-1]
                break
        # The log must be read, or the server would wait for room in the pipe.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
        with httpx.Client(base_url=url, timeout=300, limits=limits) as client:
            while client.get("/health/ready").status_code != 200:
                time.sleep(0.05)
            yield client, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def bodies() -> list[dict[str, object]]:
    """One body a question: the topic's documents among others, in an order of its own."""
    everything = [document.text for document in clean_corpus()]
    made = []
    for number, topic in enumerate(contested()):
        own = [document.text for document in topic.documents]
        for turn, question in enumerate((topic.question, *topic.paraphrases)):
            start = (7 * turn) % len(own)
            rest = everything[(31 * number + 11 * turn) % len(everything) :]
            texts = dict.fromkeys([*own[start:], *own[:start], *rest])
            made.append({"question": question, "documents": list(texts)[:DOCUMENTS]})
    return made


def latency(requests: int) -> None:
    """Added milliseconds, over labels that are read and labels that are remembered."""
    with served() as (client, _):
        added: dict[str, list[float]] = {"labels read": [], "labels remembered": []}
        totals: dict[str, list[float]] = {name: [] for name in added}
        seen: set[str] = set()
        for body in itertools.islice(itertools.cycle(bodies()), requests):
            kind = "labels remembered" if str(body["question"]) in seen else "labels read"
            seen.add(str(body["question"]))
            began = time.perf_counter()
            answer = client.post("/v1/balance", json=body)
            wall = 1e3 * (time.perf_counter() - began)
            answer.raise_for_status()
            inside = answer.json()["selection"]["timings_ms"]["total"]
            added[kind].append(wall - inside)
            totals[kind].append(inside)
    for kind, values in added.items():
        if len(values) < 2:
            continue
        cuts = statistics.quantiles(values, n=100, method="inclusive")
        print(
            f"{kind}: n={len(values)}, library p50 {statistics.median(totals[kind]):.1f} ms; "
            f"added p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms, most {max(values):.1f} ms"
        )


def load(clients: int, rounds: int) -> None:
    """Requests a second of both servers, in turns, and how soon /health/live answers meanwhile."""
    alone = bodies()
    loads = {
        "each question once, no label remembered": (alone, "0"),
        "each question from four clients": (_shuffled(alone[:20] * 4), "100000"),
    }
    for load_name, (made, remembered) in loads.items():
        print(f"{load_name}: {len(made)} requests, {clients} clients")
        rates: dict[str, list[float]] = {"shared": [], "one by one": []}
        for turn in range(rounds):
            for name in sorted(rates, reverse=turn % 2 == 0):
                options = ["--workers", "8"] if name == "shared" else ["--workers", "1"]
                kept = remembered if name == "shared" else "0"
                with served("--remembered", kept, *options) as (client, _):
                    rates[name].append(_round(name, client, made, clients))
        ratios = [a / b for a, b in zip(rates["shared"], rates["one by one"], strict=True)]
        print(f"  ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def _round(name: str, client: httpx.Client, made: list[dict[str, object]], clients: int) -> float:
    """Requests a second over all of `made`; what was seen is printed."""
    stop = threading.Event()
    beats: list[float] = []

    def watch() -> None:
        while not stop.wait(0.02):
            began = time.perf_counter()
            client.get("/health/live").raise_for_status()
            beats.append(1e3 * (time.perf_counter() - began))

    watching = threading.Thread(target=watch)
    watching.start()
    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        times = list(pool.map(lambda body: _timed(client, body), made))
    rate = len(made) / (time.perf_counter() - began)
    stop.set()
    watching.join()
    beat = statistics.quantiles(beats, n=100, method="inclusive")
    print(
        f"  {name}: {rate:.2f} requests a second, p50 {statistics.median(times):.2f} s, longest "
        f"{max(times):.2f} s, none failed; "
        f"/health/live p50 {beat[49]:.1f} ms, p99 {beat[98]:.1f} ms"
    )
    return rate


def _shuffled(made: list[dict[str, object]]) -> list[dict[str, object]]:
    mixed = list(made)
    random.Random(0).shuffle(mixed)
    return mixed


def _timed(client: httpx.Client, body: dict[str, object]) -> float:
    began = time.perf_counter()
    client.post("/v1/balance", json=body).raise_for_status()
    return time.perf_counter() - began


def soak(minutes: float, clients: int = 8) -> None:
    """Memory of the server every ten seconds, requests done, failures."""
    made = bodies()
    for number, body in enumerate(made):
        body["k"] = 3 + number % 6
    failures: list[str] = []
    with served("--remembered", "500") as (client, pid), ThreadPoolExecutor(clients) as pool:
        end = time.monotonic() + 60 * minutes
        done = itertools.count()

        def go(first: int) -> None:
            for body in itertools.islice(itertools.cycle(made), first, None):
                if time.monotonic() > end:
                    return
                answer = client.post(
                    "/v2/rerank" if first % 2 else "/v1/balance", json=_as(body, first)
                )
                if answer.status_code != 200:
                    failures.append(answer.text)
                next(done)

        futures = [pool.submit(go, first) for first in range(clients)]
        memory = []
        while time.monotonic() < end:
            time.sleep(min(10, max(0.1, end - time.monotonic())))
            memory.append(_resident_mb(pid))
        for future in futures:
            future.result()
    kept = memory[len(memory) // 5 :]
    print(
        json.dumps(
            {
                "minutes": minutes,
                "requests": next(done),
                "failures": len(failures),
                "memory_mb_after_a_fifth": kept[0],
                "memory_mb_at_the_end": kept[-1],
                "memory_mb_most": max(kept),
            }
        )
    )


def _as(body: dict[str, object], first: int) -> dict[str, object]:
    if first % 2 == 0:
        return body
    return {"query": body["question"], "documents": body["documents"], "model": "equipoise"}


def _resident_mb(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["latency", "load", "soak"])
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=10)
    given = parser.parse_args()
    if given.part == "latency":
        latency(given.requests)
    elif given.part == "load":
        load(given.clients, given.rounds)
    else:
        soak(given.minutes)


if __name__ == "__main__":
    main()
