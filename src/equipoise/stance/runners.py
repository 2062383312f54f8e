"""What runs a pair model: ONNX Runtime, or (extra `transformers`) PyTorch.

Source: ours; the numbers beside the options were measured on an int8 MPNet of 79 MB.
"""

import os
import platform
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from equipoise._extras import onnxruntime as import_onnxruntime
from equipoise._extras import require
from equipoise.errors import DetectorError
from equipoise.stance.pairs import Batch

Logits = npt.NDArray[np.float64]
_MOST_THREADS = 8


class Runner(Protocol):
    """Runs a batch. `alone` says that pairs must not share a batch (see `OnnxRunner`)."""

    @property
    def alone(self) -> bool:
        """True when a pair's result would change with its neighbours in the batch."""
        ...

    def logits(self, batch: Batch) -> Logits:
        """The model's raw outputs, float64 of shape (pairs, outputs)."""
        ...


def run_batches(runner: Runner, batches: Sequence[Batch], *, at_once: int) -> list[Logits]:
    """The outputs of each batch, in order; up to `at_once` runs go on side by side.

    Inside one run every operator ends with its threads waiting for each other, and a short text
    has little work to share out: the more cores, the more is won by a text a thread (benchmarks/
    detector/speed.py compares the two). Which runs share the processor changes no output. Threads
    live for this call only.

    Raises:
        DetectorError: a run failed; of several the first in order is raised, and runs that have
            not begun are left out.
    """
    workers = min(at_once, len(batches))
    if workers < 2:
        return [runner.logits(batch) for batch in batches]
    with ThreadPoolExecutor(workers, thread_name_prefix="equipoise-label") as pool:
        return list(pool.map(runner.logits, batches))


def default_threads() -> int:
    """Threads for one model: the physical cores this process may use, from 1 to 8.

    Texts that are run alone take a thread each (`run_batches`); others share the threads.

    Two threads on the two halves of one core slow each other down here, and beyond 8 threads a
    short text gains nothing.
    """
    return min(_MOST_THREADS, usable_cores())


def usable_cores() -> int:
    """The physical cores that affinity and a container's quota leave to this process, >= 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        halves = Path("/sys/devices/system/cpu/smt/active").read_text("ascii").strip() == "1"
    except (OSError, ValueError):
        halves = False
    return max(1, min(_container_cores(), cores // 2 if halves else cores))


def int8_sums_are_exact(
    *, machine: str | None = None, cpuinfo: Path = Path("/proc/cpuinfo")
) -> bool:
    """True where ONNX Runtime's fast products of 8-bit weights cannot overflow.

    They can on x86 without VNNI (16-bit sums), so there the exact ones are asked for; where VNNI
    is, asking would double the time (108 against 48 ms a text). Linux alone tells; elsewhere x86
    takes the exact ones.

    Args:
        machine: the processor's kind; None reads it.
        cpuinfo: the file with the processor's features.
    """
    kind = (machine or platform.machine()).lower()
    if kind not in ("x86_64", "amd64", "i386", "i686"):
        return True
    try:
        return "vnni" in cpuinfo.read_text("ascii", errors="replace")
    except OSError:
        return False


def _container_cores() -> int:
    """The whole cores that a container's quota gives (cgroup 2), or a number past any machine."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):  # no cgroup, or "max": no quota
        return 1_000


class OnnxRunner:
    """An ONNX model under ONNX Runtime on the processor. Safe to share between threads.

    Resident memory for a model of 79 MB, texts of up to 192 tokens: 170 MB with ONNX Runtime's
    arena, one text a run, idle threads asleep; 490 MB without the arena (freed blocks stay with
    the C library); pre-packed weights cost 12 MB and save a tenth of the time. So: arena on,
    packing on, spinning off (spinning threads also slow whatever shares the processor).

    No more runs go on at once than the cores hold: sixteen callers would otherwise take 200 MB
    more and finish no sooner.

    Args:
        path: the model file.
        threads: threads of one run, >= 1; a model that is run text by text takes one a run.

    Raises:
        DetectorError: the file is no model that ONNX Runtime can load, or it wants other inputs
            than input_ids, attention_mask and token_type_ids.
    """

    def __init__(self, path: Path, *, threads: int) -> None:
        onnxruntime = import_onnxruntime()
        options = onnxruntime.SessionOptions()
        self._alone = _scales_by_batch(path)
        # Texts that are run alone take a thread each, side by side (`run_batches`).
        each = 1 if self._alone else threads
        options.intra_op_num_threads = each
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        exact = "0" if int8_sums_are_exact() else "1"
        options.add_session_config_entry("session.x64quantprecision", exact)
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # ONNX Runtime's errors have no common class
            raise DetectorError(f"{path} must be an ONNX model that loads: {error}") from error
        self._room = threading.BoundedSemaphore(max(1, usable_cores() // each))
        self._inputs = [given.name for given in self._session.get_inputs()]
        known = {"input_ids", "attention_mask", "token_type_ids"}
        if not {"input_ids"} <= set(self._inputs) <= known:
            raise DetectorError(
                f"{path} must take inputs among {sorted(known)}, got {self._inputs}"
            )

    @property
    def alone(self) -> bool:
        """True for dynamic int8: its activations are scaled by the largest in the whole batch.

        A text would then score differently beside other texts: the same document could change
        sides with the company it keeps. One text a run makes the score its own, and on a
        processor it costs nothing (measured: 111 ms a text alone, 115 ms in eights).
        """
        return self._alone

    def logits(self, batch: Batch) -> Logits:
        """The model's raw outputs, float64 of shape (pairs, outputs).

        Raises:
            DetectorError: the run failed.
        """
        given = {
            "input_ids": batch.ids,
            "attention_mask": batch.mask,
            "token_type_ids": batch.types,
        }
        try:
            with self._room:
                outputs = self._session.run(None, {name: given[name] for name in self._inputs})
        except Exception as error:  # ONNX Runtime's errors have no common class
            shape = batch.ids.shape
            raise DetectorError(f"the model failed on a batch of shape {shape}: {error}") from error
        return np.asarray(outputs[0], dtype=np.float64)


def _scales_by_batch(path: Path) -> bool:
    """True when there is a model file and it has the operator of dynamic quantization."""
    import mmap

    if not path.is_file() or not path.stat().st_size:  # loading it will say so
        return False

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"DynamicQuantizeLinear") >= 0


class TransformersRunner:
    """A checkpoint under PyTorch and transformers, in float32. Safe to share between threads.

    Args:
        path: a folder with config.json and safetensors weights (pickled ones are refused).
        threads: kept as PyTorch has them when None, for the setting is the whole process's.

    Raises:
        MissingExtraError: transformers or torch is not installed.
        DetectorError: the checkpoint does not load.
    """

    alone = False

    def __init__(self, path: Path, *, threads: int | None) -> None:
        self._torch = require("torch", extra="transformers")
        transformers = require("transformers", extra="transformers")
        if threads is not None:
            self._torch.set_num_threads(threads)
        try:
            model = transformers.AutoModelForSequenceClassification.from_pretrained(
                path, use_safetensors=True, local_files_only=True, trust_remote_code=False
            )
        except Exception as error:  # of many libraries' classes
            raise DetectorError(f"{path} must be a checkpoint that loads: {error}") from error
        self._model = model.eval()
        self._names = _arguments(model.forward)

    def logits(self, batch: Batch) -> Logits:
        """The model's raw outputs, float64 of shape (pairs, outputs)."""
        given = {
            "input_ids": batch.ids,
            "attention_mask": batch.mask,
            "token_type_ids": batch.types,
        }
        tensors = {
            name: self._torch.from_numpy(values)
            for name, values in given.items()
            if name in self._names
        }
        with self._torch.inference_mode():
            logits = self._model(**tensors).logits
        return np.asarray(logits.double().numpy(), dtype=np.float64)


def _arguments(function: Any) -> Sequence[str]:
    import inspect

    return list(inspect.signature(function).parameters)
