"""The page in a real browser: Debian's chromium, headless, over a real socket."""

import shutil

import pytest

from equipoise import Balancer
from equipoise.data import topic
from equipoise.server import create_app
from equipoise.testing import FakeDetector

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class World:
    """A question, documents in retrieval order (five for, two against, one on it), a detector."""

    question = "Should it be done?"
    documents = (*(f"for it {n}" for n in range(5)), "against it 1", "against it 2", "on it")

    @property
    def detector(self):
        known = {d.text: d.metadata["stance"] for d in topic("basic-income").documents}
        known |= {text: "pro" if "for" in text else "con" for text in self.documents[:-1]}
        return FakeDetector(known, default="neutral")

    def app(self, detector=None, **options):
        return create_app(Balancer(detector=detector or self.detector), **options)


class Screen:
    """An open page, with what nearly every test does to it. Locators look into shadow roots."""

    def __init__(self, page, expect):
        self.page, self.expect = page, expect
        self.question = page.get_by_label("Question", exact=True)
        self.documents = page.get_by_label("Documents, most")
        self.button = page.get_by_role("button", name="Balance", exact=True)
        self.status = page.locator("#status")
        self.error = page.locator("#error")
        self.understood = page.locator("#understood")
        self.server = page.locator("#server")
        self.picture = page.locator("#picture .equipoise")

    def fill(self, documents=World.documents, question=World.question):
        self.question.fill(question)
        self.documents.fill("\n".join(documents))

    def balance(self):
        self.button.click()
        self.expect(self.status).to_contain_text("Done")


@pytest.fixture(scope="session")
def world():
    return World()


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium on this machine (apt-get install chromium)")
    # Subtle: of a module, for asynchronous tests of others cannot run while the driver does.
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, serving, world):
    """`opened(app)` is the page of that application; its console must stay empty.

    `allowed` has parts of messages that may be there; the rest are options of the browser's context.
    """
    from playwright.sync_api import expect

    contexts, servers, problems = [], [], []

    def open_page(app=None, *, allowed=(), **options):
        servers.append(serving(app or world.app()))
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()

        def note(message):
            told = message.text
            if message.type in ("error", "warning") and not any(part in told for part in allowed):
                problems.append(told)

        page.on("console", note)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(servers[-1].__enter__())
        return Screen(page, expect)

    yield open_page
    for context in contexts:
        context.close()
    for server in servers:
        server.__exit__(None, None, None)
    assert problems == []
