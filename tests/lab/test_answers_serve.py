"""The loopback server: who may speak to it, what it says, and one answer at a time."""

import json
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from equipoise.generation.models import MODELS, has_full_size, model_path
from equipoise.lab.answers.serve import Loopback
from equipoise.testing import EchoGenerator
from equipoise.types import Answer, Outcome


def ask(server, body=None, *, path="/chat/completions", key=None, raw=None):
    """Status and body of a request."""
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.url + path, data=data)
    request.add_header("Authorization", f"Bearer {server.key if key is None else key}")
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def user(text, **more):
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


class Fixed:
    """A generator that gives one answer."""

    name = "fixed"

    def __init__(self, outcome, text="", detail="", tokens=(7, 3)):
        self._answer = Answer(outcome, text, "fixed", 1.0, detail, 1, *tokens)

    def generate(self, prompt):
        return self._answer


def test_an_answer_comes_in_openais_format():
    generator = Fixed(Outcome.ANSWERED, "Zoos.")
    with Loopback(generator, model="m", max_tokens=9) as server:
        status, body = ask(server, user("Zoos?", max_tokens=9))
    assert status == 200
    (choice,) = body["choices"]
    assert choice["message"] == {"role": "assistant", "content": "Zoos."}
    assert choice["finish_reason"] == "stop"
    assert body["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def test_an_answer_at_its_limit_is_said_to_be_cut():
    with Loopback(Fixed(Outcome.ANSWERED, "Zoos"), model="m", max_tokens=3) as server:
        assert ask(server, user("Zoos?"))[1]["choices"][0]["finish_reason"] == "length"


def test_the_generator_gets_the_prompt_as_it_is():
    generator = EchoGenerator("yes")
    text = 'line\n\n[1] "quoted" \u2028 \N{SNOWMAN} {braces}'
    with Loopback(generator, model="m", max_tokens=9) as server:
        assert ask(server, user(text))[0] == 200
    assert generator.prompts == [text]


def test_nobody_without_the_key_is_answered():
    generator = EchoGenerator("yes")
    with Loopback(generator, model="m", max_tokens=9) as server:
        for key in ("", "wrong", server.key + "x"):
            assert ask(server, user("Zoos?"), key=key)[0] == 401
        assert ask(server, path="/models", key="wrong")[0] == 401
    assert generator.prompts == []


def test_keys_and_ports_are_of_one_server_alone():
    generator = EchoGenerator("yes")
    with (
        Loopback(generator, model="m", max_tokens=9) as one,
        Loopback(generator, model="m", max_tokens=9) as two,
    ):
        assert one.url != two.url
        assert one.key != two.key
        assert one.url.startswith("http://127.0.0.1:")
        assert ask(one, path="/models")[1]["data"][0]["id"] == "m"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (user("Zoos?", max_tokens=8), 400),
        (user("Zoos?", max_completion_tokens=8), 400),
        (user("Zoos?", max_tokens=[9]), 400),
        (user("Zoos?", stream=True), 400),
        (user("Zoos?", temperature=0.7), 400),
        (user(" "), 400),
        (user(None), 400),
        ({"messages": []}, 400),
        ({"messages": [{"role": "system", "content": "x"}]}, 400),
        ({"messages": "Zoos?"}, 400),
        ([], 400),
    ],
)
def test_what_it_does_not_do_is_refused_and_not_left_out(body, status):
    generator = EchoGenerator("yes")
    with Loopback(generator, model="m", max_tokens=9) as server:
        assert ask(server, body)[0] == status
        assert ask(server, user("Zoos?"))[0] == 200  # and it is still there
    assert generator.prompts == ["Zoos?"]


def test_junk_and_unknown_places_are_errors():
    with Loopback(EchoGenerator("yes"), model="m", max_tokens=9) as server:
        assert ask(server, raw=b"{not json")[0] == 400
        assert ask(server, user("Zoos?"), path="/completions")[0] == 404
        assert ask(server, path="/elsewhere")[0] == 404


def test_a_prompt_that_does_not_fit_is_told_from_a_failure():
    long = "the prompt has 5000 tokens and the context holds 4096: give fewer"
    with Loopback(Fixed(Outcome.ERROR, detail=long), model="m", max_tokens=9) as server:
        status, body = ask(server, user("Zoos?"))
        assert (status, body["error"]["code"]) == (400, "context_length_exceeded")
    with Loopback(Fixed(Outcome.ERROR, detail="it broke"), model="m", max_tokens=9) as server:
        status, body = ask(server, user("Zoos?"))
        assert (status, body["error"]["message"]) == (500, "it broke")


def test_requests_are_answered_one_at_a_time():
    class Watched:
        name = "watched"
        now = most = 0
        lock = threading.Lock()

        def generate(self, prompt):
            with self.lock:
                self.now += 1
                self.most = max(self.most, self.now)
            time.sleep(0.02)
            with self.lock:
                self.now -= 1
            return Answer(Outcome.ANSWERED, "yes", "watched", 1.0)

    generator = Watched()
    with (
        Loopback(generator, model="m", max_tokens=9) as server,
        ThreadPoolExecutor(5) as pool,
    ):
        statuses = list(pool.map(lambda n: ask(server, user(f"{n}?"))[0], range(5)))
    assert statuses == [200] * 5
    assert generator.most == 1


def test_after_the_end_nobody_listens():
    with Loopback(EchoGenerator("yes"), model="m", max_tokens=9) as server:
        pass
    with pytest.raises(urllib.error.URLError):
        ask(server, user("Zoos?"))
    server.close()  # twice is fine


there = has_full_size(MODELS["smollm2"], model_path("smollm2"))


@pytest.mark.slow
@pytest.mark.skipif(not there, reason="the embedded model is not fetched")
def test_the_embedded_model_answers_through_inspect(tmp_path, monkeypatch):
    """Two questions, one of them too long, through inspect's own client; then from the cache."""
    pytest.importorskip("xllamacpp")
    from equipoise.lab.answers.evidence import Chosen, Setting
    from equipoise.lab.answers.generators import load_model
    from equipoise.lab.answers.run import answer_all
    from equipoise.lab.answers.store import read_cells
    from equipoise.lab.pack import Document, Origin, Question
    from equipoise.prompt import COMPACT

    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "inspect-cache"))
    zoo = Document("d1", "Zoos protect rare animals.", Origin.BACKGROUND, "toy")
    long = Document("d2", "zoo " * 3000, Origin.BACKGROUND, "toy")
    evidence = ({"label": None, "truth": None, "planted": False},)
    chosen = tuple(
        Chosen(Question(name, "zoos", "Are zoos good?"), "zoos", (document,), evidence)
        for name, document in (("short", zoo), ("long", long))
    )
    about = {"pack": "toy", "corpus": "clean", "attack": {}, "labels": "oracle"}
    setting = Setting({**about, "defence": "none: one"}, chosen)
    asked = load_model("local", options={"context_tokens": 1024}, max_tokens=12)
    try:
        done = answer_all([setting], asked, COMPACT, tmp_path / "one")
        assert done.outcomes == {"answered": 1, "error": 1}
        (cell,) = read_cells(tmp_path / "one")
        assert (cell.generator, cell.settings["family"]) == ("equipoise/smollm2", "smollm")
        row = cell.answers["short"]
        assert 0 < row["output_tokens"] <= 12
        assert row["text"]
        assert "does not fit" in cell.answers["long"]["error"]
    finally:
        asked.model.api.close()
    # Another server, at another port: the cache knows the answer all the same.
    asked = load_model("local", options={"context_tokens": 1024}, max_tokens=12)
    try:
        answer_all([setting], asked, COMPACT, tmp_path / "two")
    finally:
        asked.model.api.close()
    again = read_cells(tmp_path / "two")[0].answers["short"]
    assert (again["text"], again["latency_ms"]) == (row["text"], row["latency_ms"])
