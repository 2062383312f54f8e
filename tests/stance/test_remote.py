import json
import pickle
import socket
import time
from typing import Any

import pytest

from equipoise.errors import DetectorError, InputError
from equipoise.stance import RemoteDetector
from equipoise.stance.tei import Retries, TeiClient
from equipoise.types import Stance

QUESTION = "Should X be legal?"
KEY = "tei-secret-123"


@pytest.fixture
def remote(toy_server: Any) -> RemoteDetector:
    return RemoteDetector(toy_server.url, backoff_s=0.0)


def test_the_request_is_what_the_server_reads(toy_server: Any, remote: RemoteDetector) -> None:
    remote.detect("Should X not be legal?", ["it is good", "b\u200bad"])
    assert toy_server.requests == ["/info", "/predict"]
    assert toy_server.bodies == [
        {
            "inputs": [[QUESTION, "it is good"], [QUESTION, "bad"]],
            "raw_scores": False,
            "truncate": False,
        }
    ]


def test_labels_tell_the_outputs_apart_not_their_places(
    toy_server: Any, remote: RemoteDetector
) -> None:
    """The server sorts each row by score."""
    scores = remote.detect(QUESTION, ["good", "bad", "x"])
    assert [score.label.value for score in scores] == ["pro", "con", "neutral"]
    toy_server.labels = ("contradiction", "neutral", "entailment")
    assert remote.detect(QUESTION, ["good"])[0].label is Stance.PRO


def test_batches_are_no_larger_than_the_server_takes(
    toy_server: Any, remote: RemoteDetector
) -> None:
    toy_server.max_client_batch_size = 3
    assert len(remote.detect(QUESTION, ["good"] * 8)) == 8
    assert [len(body["inputs"]) for body in toy_server.bodies] == [3, 3, 2]


def test_nothing_is_asked_for_no_text_or_blank_texts(
    toy_server: Any, remote: RemoteDetector
) -> None:
    assert remote.detect(QUESTION, []) == []
    assert remote.detect(QUESTION, [" ", ""])[1].windows == 0
    assert toy_server.requests == []


def test_the_key_is_sent_as_a_bearer_token(toy_server: Any) -> None:
    toy_server.api_key = KEY
    RemoteDetector(toy_server.url, api_key=KEY).detect(QUESTION, ["x"])
    assert {headers["Authorization"] for headers in toy_server.headers} == {f"Bearer {KEY}"}


def test_a_wrong_key_is_a_detector_error_without_retries(toy_server: Any) -> None:
    toy_server.api_key = "another"
    with pytest.raises(DetectorError, match="answered 401"):
        RemoteDetector(toy_server.url, api_key=KEY).detect(QUESTION, ["x"])
    assert len(toy_server.requests) == 1


def test_the_key_is_in_no_message_and_no_repr(toy_server: Any) -> None:
    """The toy server is so careless as to repeat it."""
    toy_server.failures = [(424, {})]
    remote = RemoteDetector(toy_server.url, api_key=KEY, retries=0)
    with pytest.raises(DetectorError, match=r"answered 424: no: Bearer \*\*\*") as caught:
        remote.detect(QUESTION, ["x"])
    shown = [str(caught.value), repr(caught.value), str(caught.value.__cause__), repr(remote)]
    assert not [text for text in shown if KEY in text]
    assert KEY not in remote.name


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_an_overloaded_server_is_asked_again(
    toy_server: Any, remote: RemoteDetector, status: int
) -> None:
    toy_server.failures = [(status, {}), (status, {"Retry-After": "0"})]
    assert remote.detect(QUESTION, ["good"])[0].label is Stance.PRO
    assert len(toy_server.bodies) == 3


@pytest.mark.parametrize("status", [400, 401, 413, 422, 424, 500])
def test_a_refusal_is_not_asked_again(toy_server: Any, remote: RemoteDetector, status: int) -> None:
    toy_server.failures = [(status, {})]
    with pytest.raises(DetectorError, match=f"answered {status}"):
        remote.detect(QUESTION, ["good"])
    assert len(toy_server.bodies) == 1


def test_retries_come_to_an_end(toy_server: Any) -> None:
    toy_server.failures = [(503, {})] * 9
    remote = RemoteDetector(toy_server.url, retries=2, backoff_s=0.0)
    with pytest.raises(DetectorError, match=r"answered 503.*after 3 tries"):
        remote.detect(QUESTION, ["good"])
    assert len(toy_server.bodies) == 3


def test_waits_double_and_follow_the_server_within_a_bound() -> None:
    retries = Retries(backoff_s=0.5)
    assert [retries.wait_s(tried, None) for tried in (1, 2, 3, 20)] == [0.5, 1.0, 2.0, 30.0]
    assert retries.wait_s(1, "7") == 7.0
    assert retries.wait_s(1, "3600") == 30.0
    assert retries.wait_s(1, "Wed, 21 Oct 2026 07:28:00 GMT") == 0.5


def test_a_wait_is_kept(toy_server: Any) -> None:
    toy_server.failures = [(503, {"Retry-After": "1"})]
    began = time.monotonic()
    RemoteDetector(toy_server.url, backoff_s=0.0).detect(QUESTION, ["good"])
    assert time.monotonic() - began >= 1.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_server_that_is_not_there_is_a_detector_error() -> None:
    remote = RemoteDetector(f"http://127.0.0.1:{free_port()}", retries=1, backoff_s=0.0)
    with pytest.raises(DetectorError, match=r"must be reachable: ConnectionRefused.*after 2 tries"):
        remote.detect(QUESTION, ["good"])
    with pytest.raises(DetectorError, match="must be reachable"):
        _ = remote.name


def test_a_server_that_does_not_answer_in_time_is_a_detector_error(toy_server: Any) -> None:
    toy_server.delay_s = 0.5
    remote = RemoteDetector(toy_server.url, timeout_s=0.1, retries=0)
    with pytest.raises(DetectorError, match="must be reachable: TimeoutError"):
        remote.detect(QUESTION, ["good"])


@pytest.mark.parametrize(
    "answer",
    [
        {"error": "none"},
        [],
        [[]],
        [1],
        [[{"label": "pro"}]],
        [[{"label": "pro", "score": "much"}]],
        [[{"label": "pro", "score": 1.0}]] * 2,
        [[{"label": "pro", "score": 0.5}, {"label": "con", "score": 0.5}]],
        [[{"label": n, "score": 0.9} for n in ("pro", "con", "neutral")]],
        [[{"label": n, "score": v} for n, v in (("pro", 2.0), ("con", -1.0), ("neutral", 0.0))]],
        [[{"label": n, "score": float("nan")} for n in ("pro", "con", "neutral")]],
        [[{"label": n, "score": 1 / 3} for n in ("LABEL_0", "LABEL_1", "LABEL_2")]],
        [[{"label": n, "score": 1 / 3} for n in ("joy", "anger", "neutral")]],
        b"<html>not json</html>",
    ],
)
def test_an_answer_of_another_form_is_a_detector_error(
    toy_server: Any, remote: RemoteDetector, answer: Any
) -> None:
    toy_server.answer = answer
    with pytest.raises(DetectorError):
        remote.detect(QUESTION, ["good"])


def test_unnamed_labels_are_read_in_the_given_order(toy_server: Any) -> None:
    toy_server.labels = ("LABEL_0", "LABEL_1", "LABEL_2")
    given = RemoteDetector(toy_server.url, labels=("con", "neutral", "pro"))
    assert given.detect(QUESTION, ["good"])[0].label is Stance.PRO
    with pytest.raises(DetectorError, match=r'labels=\("con", "neutral", "pro"\)'):
        RemoteDetector(toy_server.url).detect(QUESTION, ["good"])


def test_a_stance_in_the_last_tenth_of_a_long_document_is_found(
    toy_server: Any, remote: RemoteDetector
) -> None:
    """Public report 7."""
    toy_server.max_client_batch_size = 32
    text = "filler " * 13_000 + ("bad " + "filler " * 8) * 150
    score = remote.detect(QUESTION, ["good", text])[1]
    assert (score.label, score.windows) == (Stance.CON, 64)


def test_no_window_is_cut_by_the_server(toy_server: Any, remote: RemoteDetector) -> None:
    remote.detect(QUESTION, ["one two three four five six seven " * 60])
    assert not any(body["truncate"] for body in toy_server.bodies)
    text = " ".join(pair[1] for body in toy_server.bodies for pair in body["inputs"])
    assert text.count("seven") >= 60


def test_windows_that_are_still_too_long_are_cut_again_at_half_the_size(
    toy_server: Any, remote: RemoteDetector
) -> None:
    """A server whose tokenizer makes two tokens of what the estimate takes for one."""
    ask = toy_server.predict
    too_long = (413, {"error": "`inputs` must have less than 64 tokens. Given: 110"})

    def strict(body: Any) -> tuple[int, Any]:
        longest = max(len(text.split()) for _, text in body["inputs"])
        return too_long if longest > 30 else ask(body)

    toy_server.predict = strict
    score = remote.detect(QUESTION, ["a b " * 50 + "good"])[0]
    # 101 units; 54 a window at first, then 27, every 20.
    assert (score.label, score.windows) == (Stance.PRO, 5)


def test_windows_that_never_fit_are_an_input_error(toy_server: Any, remote: RemoteDetector) -> None:
    said = "`inputs` must have less than 8 tokens. Given: 12"
    toy_server.predict = lambda body: (413, {"error": said})
    with pytest.raises(InputError, match="shorten the question"):
        remote.detect(QUESTION, ["good"])


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host",
        "file:///etc/passwd",
        "host:80",
        "",
        "http://",
        "http://k:s@host",
        "http://h?k=1",
    ],
)
def test_an_address_must_be_http_and_carry_no_key(url: str) -> None:
    with pytest.raises(InputError, match="url must"):
        RemoteDetector(url)


@pytest.mark.parametrize("end", ["", "/", "/predict", "/predict/"])
def test_the_address_may_end_in_predict(toy_server: Any, end: str) -> None:
    detector = RemoteDetector(toy_server.url + end)
    assert detector.detect(QUESTION, ["good"])[0].label is Stance.PRO


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_for_it_would_carry_the_key_away(
    toy_server: Any, status: int
) -> None:
    toy_server.failures = [(status, {"Location": f"http://127.0.0.1:{free_port()}/predict"})]
    with pytest.raises(DetectorError, match=f"answered {status}"):
        RemoteDetector(toy_server.url, api_key=KEY).detect(QUESTION, ["good"])


@pytest.mark.parametrize(
    "arguments",
    [
        {"timeout_s": 0},
        {"timeout_s": float("inf")},
        {"retries": -1},
        {"retries": 1.5},
        {"backoff_s": -1},
        {"max_windows": 0},
        {"api_key": ""},
        {"api_key": "a\nb"},
        {"labels": ("a", "b")},
    ],
)
def test_arguments_out_of_range_are_input_errors(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(arguments))):
        RemoteDetector("http://127.0.0.1", **arguments)


def test_the_name_holds_the_servers_model_and_revision(
    toy_server: Any, remote: RemoteDetector
) -> None:
    assert f"remote:{toy_server.url}:toy/stance@abc:" in remote.name
    assert toy_server.requests == ["/info"]


def test_info_of_another_kind_of_server_is_a_detector_error(
    toy_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = TeiClient(toy_server.url, api_key=None, retries=Retries())
    monkeypatch.setattr(client, "_ask", lambda path, body: {"status": "ok"})
    with pytest.raises(DetectorError, match="must name a model"):
        client.info()


def test_a_pickled_copy_asks_the_same_server(toy_server: Any) -> None:
    toy_server.api_key = KEY
    copy = pickle.loads(pickle.dumps(RemoteDetector(toy_server.url, api_key=KEY)))
    assert copy.detect(QUESTION, ["good"])[0].label is Stance.PRO


def test_scores_can_be_written_as_json(remote: RemoteDetector) -> None:
    json.dumps([score.to_dict() for score in remote.detect(QUESTION, ["good"])], allow_nan=False)
