"""The picture of a selection: one HTML renderer and one for the terminal.

Both read the plain mapping that `Selection.to_dict()` gives, so that a stored result can be
drawn as well as a fresh one.
"""

from equipoise.render.html import render_html
from equipoise.render.text import render_text

__all__ = ["render_html", "render_text"]
