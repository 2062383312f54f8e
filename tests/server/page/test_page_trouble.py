"""The page when something is wrong, hostile, slow or closed, and what answers look like."""

import json
import threading

import pytest

from equipoise.server import Limits
from equipoise.server.auth import Keys
from equipoise.testing import EchoGenerator, ListRetriever
from equipoise.types import Outcome

api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = api.expect
pytestmark = pytest.mark.slow

POISON = '</style></textarea><script>window.ran=1</script><img src=x onerror="window.ran=1">'


class Slow:
    """A detector that waits until it is let go."""

    name = "slow"

    def __init__(self, detector):
        self.go, self.asked = threading.Event(), threading.Event()
        self._detector = detector

    def detect(self, question, texts):
        self.asked.set()
        assert self.go.wait(30)
        return self._detector.detect(question, texts)


def test_what_is_missing_or_refused_is_told_in_words(opened, world):
    app = world.app(limits=Limits(documents=3, body_bytes=2_000))
    screen = opened(app, allowed=["status of 422", "ERR_CONNECTION_REFUSED"])
    expect(screen.server).to_contain_text("no model")
    screen.button.click()
    expect(screen.error).to_have_text("Please enter a question.")
    expect(screen.question).to_have_attribute("aria-invalid", "true")
    expect(screen.question).to_be_focused()
    screen.fill([])
    screen.button.click()
    expect(screen.error).to_have_text("Please enter documents.")
    screen.fill()
    screen.button.click()
    expect(screen.error).to_have_text(
        "The server says: a request may have 3 documents (documents), got 8"
    )
    screen.fill(["x" * 3_000])
    screen.button.click()
    expect(screen.error).to_contain_text("This server takes 2000 bytes a request")
    screen.fill(world.documents[:3])
    screen.page.route("**/v1/balance", lambda route: route.abort("connectionrefused"))
    screen.button.click()
    expect(screen.error).to_have_text("The server cannot be reached. Is it still running?")
    screen.page.unroute("**/v1/balance")
    screen.balance()
    expect(screen.error).to_have_text("")
    against = screen.page.get_by_label("Against", exact=True)
    against.fill("-1")
    screen.button.click()
    expect(screen.error).to_contain_text("Places are whole numbers")
    expect(against).to_be_focused()
    expect(screen.question).not_to_have_attribute("aria-invalid", "true")


def test_nothing_that_documents_bring_runs(opened, world):
    retrievers = {POISON: ListRetriever([POISON])}
    screen = opened(world.app(generator=EchoGenerator(POISON), retrievers=retrievers))
    page = screen.page
    expect(screen.server).to_contain_text("with a model")
    row = {"text": POISON, "id": POISON, "metadata": {POISON: POISON}, "title": POISON}
    screen.fill([json.dumps(row)], POISON)
    screen.balance()
    page.get_by_role("button", name="Ask the model twice").click()
    expect(page.locator(".answer .text").first).to_have_text(POISON)
    expect(screen.picture.locator(".eq-question")).to_have_text(POISON)
    expect(screen.picture.locator(".eq-card .eq-text")).to_have_text(POISON)
    expect(screen.picture.locator(".eq-card-foot")).to_contain_text(POISON[:40])
    assert POISON in page.locator("#prompt").text_content()
    page.get_by_label("An index").check()
    expect(page.get_by_label("Index", exact=True)).to_have_value(POISON)
    screen.balance()
    expect(screen.picture.locator(".eq-card .eq-text")).to_have_text(POISON)
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert page.evaluate("window.ran") is None


def test_even_markup_that_nobody_escaped_would_not_run(opened):
    screen = opened(allowed=["Content Security Policy", "Failed to load resource"])
    put = "html => { const root = document.getElementById('intro'); root.innerHTML = html; root.append("
    put += "Object.assign(document.createElement('script'), {text: 'window.ran = 1'})); }"
    screen.page.evaluate(put, POISON)
    screen.page.wait_for_timeout(300)
    assert screen.page.locator("#intro img").count() == 1
    assert screen.page.evaluate("window.ran") is None


def test_two_answers_stand_side_by_side_and_a_refusal_is_told(opened, world):
    generator = EchoGenerator("Both sides have a case.")
    screen = opened(world.app(generator=generator))
    ask, articles = screen.page.locator("#answer"), screen.page.locator(".answer")
    expect(screen.server).to_contain_text("with a model")
    screen.fill()
    screen.balance()
    ask.click()
    expect(screen.page.locator("#answer-status")).to_have_text("Done: two answers.")
    expect(articles).to_have_count(2)
    expect(articles.nth(0)).to_contain_text("Reads 5 for.")
    expect(articles.nth(1)).to_contain_text("Reads 2 for, 2 against, 1 neutral.")
    expect(articles.nth(1)).to_contain_text("Both sides have a case.")
    left, right = (articles.nth(n).bounding_box() for n in (0, 1))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] < right["x"]
    assert len(generator.prompts) == 2
    generator.outcome = Outcome.REFUSED
    ask.click()
    expect(articles.nth(0)).to_contain_text("The model refused.")


def test_long_work_shows_that_it_goes_on_and_can_be_cancelled(opened, world):
    slow = Slow(world.detector)
    slow.go.set()  # for the text that warms the model up
    screen = opened(world.app(slow, limits=Limits(remembered=0)))
    cancel, bar = screen.page.locator("#cancel"), screen.page.locator("#bar")
    expect(screen.server).to_contain_text("no model")
    slow.go.clear()
    screen.fill()
    screen.button.click()
    expect(screen.status).to_have_text("Reading and balancing 8 documents …")
    expect(bar).to_be_visible()
    expect(screen.page.locator("#elapsed")).to_have_text("1 s")
    cancel.click()
    expect(screen.status).to_have_text("Cancelled.")
    expect(bar).to_be_hidden()
    expect(screen.button).to_be_focused()
    slow.go.set()
    screen.balance()
    expect(screen.picture).to_contain_text("Balanced:")


def test_with_less_motion_the_bar_stands_still(opened, world):
    screen = opened(reduced_motion="reduce")
    name = "getComputedStyle(document.getElementById('bar'), '::before').animationName"
    assert screen.page.evaluate(name) == "none"


def test_a_key_is_asked_for_and_kept_in_memory_only(opened, world):
    app = world.app(keys=Keys(["opensesame"]), retrievers={"news": ListRetriever(["for it 1"])})
    screen = opened(app, allowed=["status of 401"])
    key = screen.page.get_by_label("Key")
    expect(key).to_be_visible()
    expect(screen.page.get_by_label("An index")).to_be_hidden()
    screen.fill()
    screen.button.click()
    expect(screen.error).to_contain_text("This server needs a key: please enter it.")
    expect(key).to_be_focused()
    key.fill("wrong")
    key.press("Tab")
    expect(screen.error).to_have_text("The server does not take this key.")
    key.fill("opensesame")
    key.press("Tab")
    expect(screen.error).to_have_text("")
    expect(screen.page.get_by_label("An index")).to_be_visible()
    screen.balance()
    kept = "[JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie]"
    assert screen.page.evaluate(kept) == ["{}", "{}", ""]


def test_an_index_of_the_server_can_be_searched(opened, world):
    index = ListRetriever(world.documents)
    screen = opened(world.app(retrievers={"archive": index, "news": ListRetriever(["for it 1"])}))
    screen.question.fill(world.question)
    screen.page.get_by_label("An index").check()
    expect(screen.documents).to_be_hidden()
    screen.page.get_by_label("Index", exact=True).select_option("archive")
    screen.balance()
    expect(screen.picture).to_contain_text("2 for, 2 against, 1 neutral")
    assert set(index.questions) == {world.question}


def test_a_model_that_is_still_loading_is_told_and_then_forgotten(opened, world):
    app = world.app()
    screen = opened(app)
    expect(screen.server).to_contain_text("no model")
    app.state.service.ready = False
    screen.page.reload()
    expect(screen.status).to_have_text("The model is still loading; a question can wait for it.")
    app.state.service.ready = True
    expect(screen.status).to_have_text("")
