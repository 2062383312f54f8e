"""The page over plain HTTP: what is served, under which policy, and that it is well made."""

import base64
import hashlib
import itertools
import re
from html.parser import HTMLParser

import pytest
from fastapi.testclient import TestClient

from equipoise import Balancer, Quota
from equipoise.data import topic
from equipoise.server import create_app
from equipoise.server.auth import Keys
from equipoise.server.page import PATHS, example
from equipoise.testing import EchoGenerator, FailingDetector, FakeDetector, ListRetriever

_CONTROLS = {"input", "textarea", "select"}


@pytest.fixture
def client():
    return TestClient(create_app(Balancer(detector=FakeDetector({}, default="pro"))))


class Page(HTMLParser):
    """The elements of a page, and that what is opened is closed."""

    VOID = frozenset({"meta", "link", "input"})

    def __init__(self, html):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, *tags):
        return [attributes for tag, attributes, _ in self.elements if tag in tags]


def test_every_file_of_the_page_comes_with_a_strict_policy(client):
    for path in PATHS:
        response = client.get(path)
        assert response.status_code == 200
        rules = dict(
            rule.strip().split(" ", 1) if " " in rule.strip() else (rule.strip(), "")
            for rule in response.headers["content-security-policy"].split(";")
        )
        assert rules["default-src"] == rules["base-uri"] == "'none'"
        assert rules["form-action"] == rules["frame-ancestors"] == "'none'"
        assert rules["script-src"] == rules["connect-src"] == "'self'"
        assert "unsafe" not in str(rules)
        assert response.headers["x-content-type-options"] == "nosniff"


def test_the_policy_allows_the_very_style_sheet_that_the_picture_brings(client):
    body = {"question": "Should it be done?", "documents": ["for it"], "html": True}
    html = client.post("/v1/balance", json=body).json()["html"]
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in client.get("/").headers["content-security-policy"]


def test_nothing_is_loaded_from_elsewhere(client):
    for path in PATHS - {"/page/example.json"}:
        text = client.get(path).text.replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert "//" not in re.sub(r"(?m)(^|\s)//.*$", "", text), path
        assert "@import" not in text
        assert "url(" not in text
    page = Page(client.get("/").text)
    linked = [a.get("src") or a.get("href") for a in page.all("script", "link", "img")]
    assert {f"/{address}" for address in linked} <= PATHS


def test_modules_that_are_imported_are_served(client):
    scripts = [path for path in PATHS if path.endswith(".js")]
    assert len(scripts) == 4
    for path in scripts:
        for name in re.findall(r'from "\./(.+?)"', client.get(path).text):
            assert f"/page/{name}" in PATHS


def test_there_is_no_inline_script_handler_or_style(client):
    page = Page(client.get("/").text)
    assert page.all("style") == []
    assert all("src" in attributes for attributes in page.all("script"))
    for _, attributes, _ in page.elements:
        assert not any(name == "style" or name.startswith("on") for name in attributes)


def test_every_control_has_a_label_and_every_reference_a_target(client):
    page = Page(client.get("/").text)
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    labelled = {attributes.get("for") for attributes in page.all("label")}
    controls = [(a, inside) for tag, a, inside in page.elements if tag in _CONTROLS]
    assert len(controls) > 12
    for attributes, inside in controls:
        assert attributes.get("id") in labelled or "label" in inside, attributes
    for _, attributes, _ in page.elements:
        for name in ("for", "aria-labelledby", "aria-describedby"):
            assert set(attributes.get(name, "").split()) <= set(ids)


def test_there_are_landmarks_a_language_and_headings_in_order(client):
    page = Page(client.get("/").text)
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("main")) == len(page.all("header")) == len(page.all("footer")) == 1
    levels = [int(tag[1]) for tag, _, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert len([a for a in page.all("p", "span") if a.get("role") in ("status", "alert")]) >= 4


def test_the_page_is_there_before_the_model_and_when_it_does_not_load():
    # Without `with`, the client never starts the application: no model is loaded.
    client = TestClient(create_app(Balancer(detector=FailingDetector())))
    assert client.get("/").status_code == 200
    assert client.head("/").status_code == 200
    assert client.get("/v1/about").json()["ready"] is False


def test_the_page_needs_no_key_and_what_it_asks_does():
    client = TestClient(create_app(Balancer(detector=FakeDetector({})), keys=Keys(["opensesame"])))
    assert {client.get(path).status_code for path in PATHS} == {200}
    assert client.get("/v1/about").status_code == 401
    key = {"Authorization": "Bearer opensesame"}
    assert client.get("/v1/about", headers=key).status_code == 200


def test_about_says_what_the_server_has():
    app = create_app(
        Balancer(detector=FakeDetector({}, default="pro"), quota=Quota(1, 1, 1), gate="always"),
        retrievers={"news": ListRetriever(["a"]), "archive": ListRetriever(["b"])},
        generator=EchoGenerator(),
    )
    with TestClient(app) as client:
        told = client.get("/v1/about").json()
    assert told["name"] == "equipoise"
    assert told["ready"] is True
    assert told["detector"].startswith("fake:")
    assert told["indexes"] == ["archive", "news"]
    assert told["generator"] is True
    assert told["quota"] == {"pro": 1, "con": 1, "neutral": 1, "pool": 20, "depth": 50}
    assert told["gate"] == "always"
    assert told["limits"]["documents"] == 1_000


def test_the_example_is_of_the_embedded_corpus_one_side_first():
    entry = topic("basic-income")
    stances = {document.text: document.metadata["stance"] for document in entry.documents}
    given = example()
    assert given["question"] == entry.question
    kinds = [stances[text] for text in given["documents"]]
    assert len(set(given["documents"])) == 12
    assert kinds[:5] == ["con"] * 5
    assert kinds.count("pro") >= 2
    assert "neutral" in kinds


@pytest.mark.slow
def test_the_example_is_balanced_by_the_bundled_detector():
    given = example()
    selection = Balancer().balance(given["question"], given["documents"])
    assert selection.before == {"pro": 0, "con": 5, "neutral": 0}
    assert selection.composition == {"pro": 2, "con": 2, "neutral": 1}
