"""From a question and the chosen texts to the words that reach the generator."""

from equipoise.prompt.render import render_prompt
from equipoise.prompt.templates import COMPACT, DEFAULT, Template, load_template

__all__ = ["COMPACT", "DEFAULT", "Template", "load_template", "render_prompt"]
