"""The form as one HTML page: nothing is loaded, nothing is sent, answers are saved as a file."""

import json
from collections.abc import Iterable, Sequence
from html import escape

from equipoise.lab.form import ANSWERS, ASKED, INSTRUCTIONS, Form, Item
from equipoise.lab.pack import Document

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark}section{border-top:1px solid;padding:1rem 0}"
    "blockquote{border-left:.25rem solid;margin:1rem 0;padding:.25rem 1rem;white-space:pre-wrap}"
    "fieldset{border:0;padding:0;margin:1rem 0}label{margin-right:1rem}textarea{width:100%}"
)

# The answers stay in the page until the button writes them as a CSV file that `--score` reads.
_SCRIPT = """
document.getElementById("save").addEventListener("click", () => {
  const quoted = (text) => '"' + text.replace(/^(?=\\s*[=+\\-@])/, "'").replace(/"/g, '""') + '"';
  const rows = [["item", ...FIELDS, "notes"]];
  for (const section of document.querySelectorAll("section[data-item]")) {
    const picked = FIELDS.map((field) =>
      section.querySelector(`input[data-field="${field}"]:checked`)?.value ?? "");
    rows.push([section.dataset.item, ...picked, section.querySelector("textarea").value]);
  }
  const text = "\\ufeff" + rows.map((row) => row.map(quoted).join(",")).join("\\r\\n") + "\\r\\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
  link.download = "filled.csv";
  link.click();
});
"""


def page(form: Form) -> str:
    """The page; every text in it is escaped, and no id tells an intended side."""
    return html_page(
        "Documents to judge",
        f"{len(form.items)} documents to judge",
        INSTRUCTIONS,
        list(ANSWERS),
        map(_section, form.items),
    )


def html_page(
    title: str, heading: str, instructions: str, fields: Sequence[str], sections: Iterable[str]
) -> str:
    """A form as a page that saves what was picked as filled.csv.

    `sections` are HTML, each a `section` with a `data-item`, a `textarea` for notes, and radio
    buttons (`choices_of`) for `fields`; the other texts are escaped here.
    """
    script = f"const FIELDS = {json.dumps(fields)};{_SCRIPT}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(heading)}</h1>"
        f"<p>{escape(instructions)} Save your answers at the end: the page does not keep them.</p>"
        + "".join(sections)
        + '<p><button id="save" type="button">Save the answers as filled.csv</button></p>'
        f"<script>{script}</script></body></html>\n"
    )


def choices_of(item: str, field: str, asked: str, known: Sequence[str]) -> str:
    """A field set with a radio button for each answer that is `known`."""
    choices = "".join(
        f'<label><input type="radio" name="{escape(item)}-{field}" data-field="{field}" '
        f'value="{answer}"> {answer}</label>'
        for answer in known
    )
    return f"<fieldset><legend>{escape(asked)}</legend>{choices}</fieldset>"


def _section(item: Item) -> str:
    first, second, last = (
        choices_of(item.id, field, ASKED[field], known) for field, known in ANSWERS.items()
    )
    own = _sources("What the document was made from", item.sources)
    further = _sources("Other documents of the topic", item.further)
    return (
        f'<section data-item="{escape(item.id)}"><h2>{escape(item.id)}: {escape(item.title)}</h2>'
        f"<p><strong>{escape(item.question)}</strong></p>"
        f"<blockquote>{escape(item.document.text)}</blockquote>{first}{second}"
        f"<details><summary>Sources</summary>{own}{further}</details>{last}"
        f'<label>Notes<br><textarea rows="2"></textarea></label></section>'
    )


def _sources(heading: str, sources: Sequence[Document]) -> str:
    if not sources:
        return f"<h3>{heading}</h3><p>None known.</p>"
    texts = "".join(f"<blockquote>{escape(source.text)}</blockquote>" for source in sources)
    return f"<h3>{heading}</h3>{texts}"
