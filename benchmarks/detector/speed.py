"""Time to label 1 to 50 documents, and to finish a selection, against the paper's set-up.

The contestants take turns within each round, so that noise hits all alike: read the ratios. The
finished selection is a Balancer (gate always) on 50 candidates from BM25 for each question of the
embedded corpus; the paper's counterpart labels the first 20 in one batch and selects.

    python -m benchmarks.detector.speed [--rounds 5] [--threads N] [--float-onnx FILE]
        [--onnx FILE]... [--quick]
"""

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.detector import contestants
from benchmarks.detector.contestants import PAPER, Contestant
from benchmarks.labelled import embedded
from equipoise import Balancer, Candidate
from equipoise.data import contested
from equipoise.stance import load_detector
from equipoise.stance.folder import bundled_names
from equipoise.stance.runners import default_threads
from equipoise.testing import FakeDetector

QUESTION = "Should voting be compulsory?"
COUNTS = (1, 5, 10, 20, 32, 50)
WORDS = (66, 250)
Times = dict[tuple[str, int, int], list[float]]


def stream() -> list[str]:
    """The words of the embedded corpus, in order."""
    return [w for topic in contested() for doc in topic.documents for w in doc.text.split()]


def documents(words: list[str], *, count: int, length: int, round_: int) -> list[str]:
    """`count` texts of `length` words each, others in each round."""
    starts = [((round_ * 50 + at) * length) % (len(words) - length) for at in range(count)]
    return [" ".join(words[start : start + length]) for start in starts]


def seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def line_up(arguments: argparse.Namespace, scratch: Path) -> list[Contestant]:
    """All contestants that can be had here; the paper's comes last."""
    threads: int = arguments.threads
    makers: dict[str, Callable[[], Contestant]] = {
        name: partial(contestants.bundled, name, threads)
        for name in ("default", "small")
        if name in bundled_names()
    }
    ways = {
        "`default`, one run at a time": (threads, 1),
        "`default`, side by side, one thread a run": (1, threads),
    }
    for name, (each, at_once) in ways.items() if threads > 1 else ():
        weights = contestants.DEFAULT / "onnx/model_quantized.onnx"
        makers[name] = partial(contestants.from_file, name, weights, threads=each, at_once=at_once)
    for path in arguments.onnx:
        name = f"{path.name}, side by side"
        makers[name] = partial(contestants.from_file, name, path, threads=threads, at_once=threads)
    if not arguments.quick or arguments.float_onnx:
        makers["float ONNX"] = lambda: contestants.from_file(
            "its weights in float32, ONNX Runtime",
            arguments.float_onnx or contestants.export_on_the_fly(scratch),
            threads=threads,
            at_once=1,
        )
    if not arguments.quick:
        makers["sentence-transformers"] = contestants.cross_encoder
    found = []
    for name, make in makers.items():
        try:
            contestant = make()
            contestant.label(QUESTION, ["A first text."])
            found.append(contestant)
        except Exception as error:  # a peer that cannot be had must not end the run
            print(f"\nleft out: {name}: {type(error).__name__}: {error}\n")
    return [*found, contestants.papers()]


def label_times(
    line: Sequence[Contestant], counts: Sequence[int], lengths: Sequence[int], rounds: int
) -> Times:
    words = stream()
    times: Times = defaultdict(list)
    for round_ in range(rounds):
        for length in lengths:
            for count in counts:
                texts = documents(words, count=count, length=length, round_=round_)
                for who in line:
                    took = seconds(partial(who.label, QUESTION, texts))
                    times[who.name, length, count].append(took)
    return times


def selection_times(paper: Contestant, threads: int, questions: int) -> dict[str, list[float]]:
    """Seconds of a finished selection for each question: ours by bundled detector, the paper's."""
    detectors = {
        name: load_detector(name, threads=threads)
        for name in ("default", "small")
        if name in bundled_names()
    }
    times: dict[str, list[float]] = defaultdict(list)
    for detector in detectors.values():
        detector.detect(QUESTION, ["A first text."])
    for question, found in embedded(None)[:questions]:
        for name, detector in detectors.items():
            began = time.perf_counter()
            selection = Balancer(detector=detector, gate="always").balance(question, found)
            times[name].append(time.perf_counter() - began)
            times[f"{name}, labels"].append(selection.labelled)
        times[PAPER].append(seconds(partial(papers_way, paper, question, found)))
    return times


def papers_way(paper: Contestant, question: str, found: Sequence[Candidate]) -> None:
    """The first 20 in one batch of 32, then the same rule, nothing merged."""
    pool = found[:20]
    labels = paper.label(question, [candidate.text for candidate in pool])
    names = ("con", "neutral", "pro")
    table = {c.text: names[label] for c, label in zip(pool, labels, strict=True)}
    fake = FakeDetector(table)
    Balancer(detector=fake, gate="always", merge_duplicates=False).balance(question, pool)


def int8_peak(threads: int) -> float:
    """Operations a second of a MatMulInteger of 2048^3 under ONNX Runtime; the best of 7."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    side = 2_048
    weight = np.random.default_rng(0).integers(-64, 64, (side, side), dtype=np.int8)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "b"], ["c"])],
        "peak",
        [helper.make_tensor_value_info("a", TensorProto.UINT8, [side, side])],
        [helper.make_tensor_value_info("c", TensorProto.INT32, [side, side])],
        [numpy_helper.from_array(weight, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    given = {"a": np.full((side, side), 3, dtype=np.uint8)}
    session.run(None, given)
    return 2 * side**3 / min(seconds(lambda: session.run(None, given)) for _ in range(7))


def p90(values: Sequence[float]) -> float:
    return float(np.quantile(np.asarray(values), 0.9))


def show_times(
    times: Times, line: Sequence[Contestant], counts: Sequence[int], length: int
) -> None:
    print(
        f"\n### {length} words a document: median (p90) in ms, and times as fast as the paper's\n"
    )
    print("| documents | " + " | ".join(str(count) for count in counts) + " |")
    print("| --- |" + " ---: |" * len(counts))
    for who in line:
        cells = []
        for count in counts:
            mine = times[who.name, length, count]
            ratios = zip(times[PAPER, length, count], mine, strict=True)
            ratio = statistics.median(paper / own for paper, own in ratios)
            middle = 1e3 * statistics.median(mine)
            cells.append(f"{middle:,.0f} ({1e3 * p90(mine):,.0f}), {ratio:.1f}x")
        print(f"| {who.name} | " + " | ".join(cells) + " |")


def show_rates(times: Times, line: Sequence[Contestant], threads: int, rounds: int) -> None:
    words = stream()
    peak = int8_peak(threads)
    print(
        f"\n### 20 documents of 66 words ({peak / 1e9:,.0f} GOPS int8 peak: MatMulInteger 2048^3)\n"
    )
    print("| | tokens a second | share of the int8 peak |\n| --- | ---: | ---: |")
    samples = [documents(words, count=20, length=66, round_=at) for at in range(rounds)]
    tokens = statistics.mean(contestants.tokens_of(QUESTION, texts) for texts in samples)
    for who in line:
        middle = statistics.median(times[who.name, 66, 20])
        share = "-"
        for name in bundled_names():
            if who.name.startswith(f"`{name}`:"):
                done = contestants.operations(name, QUESTION, samples[0])
                share = f"{100 * done / middle / peak:.0f}%"
        print(f"| {who.name} | {tokens / middle:,.0f} | {share} |")


def show_selections(times: dict[str, list[float]]) -> None:
    print("\n### Finished selection, 50 candidates, lazily labelled (paper: 20 labelled)\n")
    print("| | questions | mean ms | labels | times as fast |\n| --- | ---: | ---: | ---: | ---: |")
    paper = statistics.mean(times[PAPER])
    for name, values in times.items():
        if name.endswith(", labels"):
            continue
        labels = statistics.mean(times.get(f"{name}, labels", [20]))
        mean = statistics.mean(values)
        print(
            f"| {name} | {len(values)} | {1e3 * mean:,.0f} | {labels:.1f} | {paper / mean:.1f}x |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--float-onnx", type=Path, default=None)
    parser.add_argument(
        "--onnx", type=Path, action="append", default=[], help="another file of its architecture"
    )
    parser.add_argument("--quick", action="store_true", help="one round, few sizes, few peers")
    arguments = parser.parse_args()
    rounds = 1 if arguments.quick else arguments.rounds
    counts, lengths = ((1, 20), (66,)) if arguments.quick else (COUNTS, WORDS)

    import torch

    torch.set_num_threads(arguments.threads)
    print(f"{arguments.threads} threads, {rounds} rounds")
    with tempfile.TemporaryDirectory() as scratch:
        line = line_up(arguments, Path(scratch))
        times = label_times(line, counts, lengths, rounds)
        for length in lengths:
            show_times(times, line, counts, length)
        show_rates(times, line, arguments.threads, rounds)
        questions = 2 if arguments.quick else 12
        show_selections(selection_times(line[-1], arguments.threads, questions))


if __name__ == "__main__":
    main()
