"""Toy models in hub layout, and a toy stance server on the loopback."""

import contextlib
import json
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

WORDS = ("<s>", "<pad>", "</s>", "<unk>", "good", "bad", "yes", "no", "nan", "filler", "x")
STRENGTH = {"good": 1.0, "bad": -1.0, "nan": float("nan")}
POLARITY = {"yes": 1.0, "no": -1.0}


def toy_graph(outputs: Sequence[str], *, reads_hypothesis: bool) -> Any:
    """A model whose outputs can be worked out by hand.

    With a = (number of "good") - (number of "bad") in the pair, x = a for a stance model, and
    x = a * ("yes" - "no") for an NLI model, the outputs are pro or entailment 2x, con or
    contradiction -2x, neutral 1.5. An unknown output name gets 0.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def table(values: dict[str, float]) -> Any:
        return np.asarray([[values.get(word, 0.0)] for word in WORDS], dtype=np.float32)

    gain = {"pro": 2.0, "entailment": 2.0, "con": -2.0, "contradiction": -2.0, "not_entailment": -2}
    row = [[float(gain.get(name, 0.0)) for name in outputs]]
    bias = [[1.5 if name == "neutral" else 0.0 for name in outputs]]
    constants = {
        "strength": table(STRENGTH),
        "polarity": table(POLARITY if reads_hypothesis else {}),
        "offset": np.asarray([[0.0 if reads_hypothesis else 1.0]], dtype=np.float32),
        "gain": np.asarray(row, dtype=np.float32),
        "bias": np.asarray(bias, dtype=np.float32),
        "last": np.asarray([2], dtype=np.int64),
        "along": np.asarray([1], dtype=np.int64),
    }
    nodes = [
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["weights"]),
    ]
    for name in ("strength", "polarity"):
        nodes += [
            helper.make_node("Gather", [name, "input_ids"], [f"{name}_at"], axis=0),
            helper.make_node("Mul", [f"{name}_at", "weights"], [f"{name}_seen"]),
            helper.make_node("ReduceSum", [f"{name}_seen", "along"], [f"{name}_sum"], keepdims=0),
        ]
    nodes += [
        helper.make_node("Add", ["polarity_sum", "offset"], ["sign"]),
        helper.make_node("Mul", ["strength_sum", "sign"], ["lean"]),
        helper.make_node("MatMul", ["lean", "gain"], ["scaled"]),
        helper.make_node("Add", ["scaled", "bias"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "toy",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "length"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", len(outputs)])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    return model


def toy_tokenizer() -> Any:
    """One token a word; a pair is `<s> first </s></s> second </s>`, as in MPNet."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=False, add_prefix_space=False
    )
    return tokenizer


MakeFolder = Callable[..., Path]


@pytest.fixture(scope="session")
def make_folder(tmp_path_factory: pytest.TempPathFactory) -> MakeFolder:
    """A function that writes a toy model's folder: labels=(...), nli=False, config={...}."""
    import onnx

    def make(
        labels: Sequence[str] = ("con", "neutral", "pro"),
        *,
        names: Sequence[str] | None = None,
        nli: bool = False,
        config: dict[str, Any] | None = None,
    ) -> Path:
        folder = tmp_path_factory.mktemp("toy")
        (folder / "onnx").mkdir()
        settings = {
            "model_type": "mpnet",
            "pad_token_id": 1,
            "max_position_embeddings": 514,
            "id2label": {str(i): name for i, name in enumerate(names or labels)},
            "equipoise": {"max_length": 64, "temperature": 1.0},
        }
        (folder / "config.json").write_text(json.dumps({**settings, **(config or {})}))
        toy_tokenizer().save(str(folder / "tokenizer.json"))
        onnx.save(toy_graph(labels, reads_hypothesis=nli), folder / "onnx" / "model_quantized.onnx")
        return folder

    return make


@pytest.fixture(scope="session")
def stance_folder(make_folder: MakeFolder) -> Path:
    return make_folder()


@pytest.fixture(scope="session")
def nli_folder(make_folder: MakeFolder) -> Path:
    return make_folder(("contradiction", "neutral", "entailment"), nli=True)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny MPNet NLI checkpoint with random weights, saved by transformers and as ONNX.

    `onnx/model.onnx` is float32, `onnx/model_quantized.onnx` its dynamic int8 form.
    """
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from transformers import MPNetConfig, MPNetForSequenceClassification, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("checkpoint")
    (folder / "onnx").mkdir()
    torch.manual_seed(20260831)
    config = MPNetConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=130,
        pad_token_id=1,
        # So large that the random outputs differ between texts.
        initializer_range=0.5,
        id2label={0: "entailment", 1: "neutral", 2: "contradiction"},
        label2id={"entailment": 0, "neutral": 1, "contradiction": 2},
    )
    model = MPNetForSequenceClassification(config).eval()
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=toy_tokenizer(),
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        model_max_length=128,
    ).save_pretrained(folder)

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.model(input_ids=input_ids, attention_mask=attention_mask).logits

    ids = torch.randint(3, len(WORDS), (2, 9))
    axes = {0: "pairs", 1: "length"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Logits(),
            (ids, torch.ones_like(ids)),
            str(folder / "onnx" / "model.onnx"),
            input_names=["input_ids", "attention_mask"],
            output_names=["logits"],
            dynamic_axes={"input_ids": axes, "attention_mask": axes, "logits": {0: "pairs"}},
            opset_version=17,
            dynamo=False,
        )
    quantize_dynamic(
        folder / "onnx" / "model.onnx",
        folder / "onnx" / "model_quantized.onnx",
        weight_type=QuantType.QInt8,
    )
    return folder


@dataclass
class ToyServer:
    """What the server does and what it was asked. Change the fields while it runs."""

    url: str = ""
    labels: Sequence[str] = ("con", "neutral", "pro")
    max_client_batch_size: int = 4
    max_input_length: int = 64
    api_key: str | None = None
    failures: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    answer: Any = None
    delay_s: float = 0.0
    bodies: list[Any] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def predict(self, body: Any) -> tuple[int, Any]:
        """Status and answer, by the rule of the toy model, in the wire format of the real one."""
        if self.answer is not None:
            return 200, self.answer
        if len(body["inputs"]) > self.max_client_batch_size:
            return 413, {"error": "batch size too large", "error_type": "Validation"}
        rows = []
        for first, second in body["inputs"]:
            first.encode("utf-8"), second.encode("utf-8")  # the real one takes no lone surrogates
            tokens = toy_tokenizer().encode(first, second)
            if len(tokens.ids) > self.max_input_length and not body["truncate"]:
                limit = self.max_input_length
                said = f"`inputs` must have less than {limit} tokens. Given: {len(tokens.ids)}"
                return 413, {"error": said, "error_type": "Validation"}
            lean = sum(STRENGTH.get(token, 0.0) for token in tokens.tokens)
            powers = np.exp([-2 * lean, 1.5, 2 * lean])
            values = (powers / powers.sum()).tolist()
            row = [{"score": v, "label": n} for v, n in zip(values, self.labels, strict=True)]
            rows.append(sorted(row, key=lambda item: -item["score"]))
        return 200, rows


def _handler(server: ToyServer, lock: threading.Lock) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self._may_pass():
                self._send(
                    200,
                    {
                        "model_id": "toy/stance",
                        "model_sha": "abc",
                        "max_client_batch_size": server.max_client_batch_size,
                        "max_input_length": server.max_input_length,
                    },
                )

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self._may_pass():
                return
            with lock:
                server.bodies.append(body)
                failure = server.failures.pop(0) if server.failures else None
            time.sleep(server.delay_s)
            if failure:
                said = {"error": f"no: {self.headers['Authorization']}", "error_type": "Overloaded"}
                self._send(failure[0], said, failure[1])
            else:
                self._send(*server.predict(body))

        def _may_pass(self) -> bool:
            with lock:
                server.requests.append(self.path)
                server.headers.append(dict(self.headers))
            wanted = None if server.api_key is None else f"Bearer {server.api_key}"
            if wanted is not None and self.headers["Authorization"] != wanted:
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return False
            return True

        def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with contextlib.suppress(BrokenPipeError):  # the client may have given up
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@pytest.fixture
def toy_server() -> Iterator[ToyServer]:
    server = ToyServer()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(server, threading.Lock())) as http:
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        http.shutdown()
        thread.join()
