"""What a visitor does on the page, in a real browser."""

import json

import pytest

from equipoise import Balancer
from equipoise.data import topic
from equipoise.rag import Rag
from equipoise.testing import ListRetriever

api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = api.expect
pytestmark = pytest.mark.slow


def test_a_newcomer_clicks_the_example_and_sees_it_balanced(opened):
    screen = opened()
    screen.page.get_by_role("button", name="Try an example").click()
    question = topic("basic-income").question
    expect(screen.question).to_have_value(question)
    expect(screen.understood).to_have_text("12 documents, read as texts between blank lines.")
    screen.balance()
    expect(screen.status).to_have_text(
        "Done: the model reads 2 for, 2 against, 1 neutral; without balancing 5 against."
    )
    picture = screen.picture
    expect(picture.get_by_role("heading", name=question)).to_be_visible()
    expect(picture.locator(".eq-card")).to_have_count(5)
    expect(picture.locator(".eq-odds-words").first).to_contain_text("against 90%")
    expect(picture.locator(".eq-card-foot").first).to_contain_text("One of 2 places")
    expect(picture).to_contain_text("Before: the 5 most relevant documents")
    # The style sheet of the picture was let in by its hash.
    expect(picture.locator(".eq-question")).to_have_css("font-size", "26px")
    expect(screen.page.locator("#intro")).to_be_hidden()
    expect(screen.page.locator("#answers")).to_be_hidden()


def test_switches_of_gate_places_and_k_redraw_the_picture(opened):
    screen = opened()
    seats, k = screen.page.get_by_label("For", exact=True), screen.page.get_by_label("In all, k")
    screen.fill()
    screen.balance()
    expect(screen.picture).to_contain_text("2 for, 2 against, 1 neutral")
    screen.page.get_by_label("Never").check()
    expect(screen.picture).to_contain_text("Order of relevance kept")
    screen.page.get_by_label("Always").check()
    expect(screen.picture).to_contain_text("Balanced:")
    seats.fill("1")
    seats.press("Enter")
    expect(screen.picture).to_contain_text("1 for, 2 against, 1 neutral")
    expect(k).to_have_attribute("placeholder", "4")
    seats.fill("2")
    k.fill("3")
    k.press("Enter")
    expect(screen.picture).to_contain_text("1 for, 1 against, 1 neutral")


def test_the_prompt_of_each_setting_is_that_of_the_library_and_can_be_copied(opened, world):
    screen = opened(permissions=["clipboard-read", "clipboard-write"])
    documents = [world.documents[0], *world.documents]  # a copy at rank 2
    rag = Rag(ListRetriever(documents), balancer=Balancer(detector=world.detector))
    screen.fill(documents)
    screen.balance()
    words = screen.page.locator("#prompt-words")
    for expected in rag.compare(world.question, settings="ABCD"):
        setting = expected.setting
        screen.page.locator(f'input[name="setting"][value="{setting}"]').check()
        ranks = "1, 3, 7, 8, 9" if setting.balances else "1, 2, 3, 4, 5"
        told = "is in it" if setting.instructs else "is not in it"
        expect(words).to_contain_text(f"{setting}: ")
        expect(words).to_contain_text(f"Documents of ranks {ranks}. The instruction {told}.")
        assert screen.page.locator("#prompt").text_content() == expected.prompt
    screen.page.get_by_role("button", name="Copy the prompt").click()
    expect(screen.page.locator("#copied")).to_have_text("Copied.")
    assert screen.page.evaluate("navigator.clipboard.readText()") == expected.prompt


def test_a_file_is_read_and_a_broken_one_is_told_by_its_line(opened, world, tmp_path):
    screen = opened()
    rows = [json.dumps({"id": f"d{n}", "text": text}) for n, text in enumerate(world.documents)]
    good, broken = tmp_path / "good.jsonl", tmp_path / "broken.jsonl"
    good.write_text("\n".join(rows))
    broken.write_text("\n".join([*rows[:2], '{"id": "no text"}']))
    screen.question.fill(world.question)
    screen.page.get_by_label("Or from a file").set_input_files(broken)
    expect(screen.understood).to_have_text('Line 3 has no "text" (a string).')
    screen.button.click()
    expect(screen.error).to_have_text('Line 3 has no "text" (a string).')
    expect(screen.documents).to_be_focused()
    screen.page.get_by_label("Or from a file").set_input_files(good)
    expect(screen.understood).to_have_text("8 documents, read as JSON Lines.")
    screen.balance()
    expect(screen.picture.locator(".eq-card-foot").first).to_contain_text("id d0")


def test_pasted_text_is_told_apart_by_its_form(opened):
    screen = opened()
    forms = {
        "a\nb\r\n\n": (["a", "b"], "one text a line"),
        "a\nb\n \nc": (["a\nb", "c"], "texts between blank lines"),
        '\ufeff{"text": "a", "score": 2}\n\n{"text": "b"}': (
            [{"text": "a", "score": 2}, {"text": "b"}],
            "JSON Lines",
        ),
        '"a"\n"b"': (["a", "b"], "JSON Lines"),
        '{"text": "a"}': ([{"text": "a"}], "JSON Lines"),
        '[{"text": "a"}, "b"]': ([{"text": "a"}, "b"], "JSON"),
        '{"documents": ["a"]}': (["a"], "JSON"),
        "[1] a source\n[2] another": (["[1] a source", "[2] another"], "one text a line"),
        '"Quoted," she said.': (['"Quoted," she said.'], "one text a line"),
        "42": (["42"], "one text a line"),
    }
    read = "async (t) => (await import('/page/documents.js')).readDocuments(t)"
    for text, (documents, how) in forms.items():
        told = screen.page.evaluate(read, text)
        assert told["documents"] == documents
        assert told["how"].endswith(f"read as {how}.")
    assert screen.page.evaluate(read, " \n ")["documents"] == []
    with pytest.raises(api.Error, match="Line 2 is not a JSON object or string"):
        screen.page.evaluate(read, '{"text": "a"}\n{"text": ')


def test_everything_can_be_done_by_keyboard_alone(opened):
    screen = opened()
    page = screen.page
    press, focused = (
        page.keyboard.press,
        "document.activeElement.id || document.activeElement.value",
    )
    expect(screen.server).to_contain_text("no model")
    press("Tab")
    expect(page.get_by_role("link", name="Skip to the result")).to_be_focused()
    press("Tab")
    press("Enter")
    expect(screen.button).to_be_focused()  # the example leads on to it
    expect(screen.button).to_have_css("outline-style", "solid")
    press("Enter")
    expect(page.locator("#selection-title")).to_be_focused()
    for key in ("Shift+Tab", "Shift+Tab", "ArrowRight", "ArrowRight"):
        press(key)
    expect(page.get_by_label("Never")).to_be_focused()
    expect(screen.picture).to_contain_text("Order of relevance kept")
    seen = []
    for _ in range(12):
        press("Tab")
        seen.append(page.evaluate(focused))
    assert list(dict.fromkeys(seen))[:5] == ["balance", "picture", "C", "prompt", "copy"]


@pytest.mark.parametrize("width", [360, 768, 1280, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_any_width_light_and_dark(opened, width, scheme):
    screen = opened(viewport={"width": width, "height": 800}, color_scheme=scheme)
    screen.fill()
    screen.balance()
    assert screen.page.evaluate("document.documentElement.scrollWidth") == width
    paper = "rgb(20, 23, 27)" if scheme == "dark" else "rgb(255, 255, 255)"
    expect(screen.page.locator("body")).to_have_css("background-color", paper)
    expect(screen.picture).to_have_css("background-color", paper)
