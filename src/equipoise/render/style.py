"""The style sheet of the HTML picture: a light and a dark palette, and rules scoped to a class.

Every rule starts with `.equipoise`, so that a notebook around the picture is left as it is. Blue
and orange stay apart for colour-blind readers, and every colour comes with a sign and a height.
"""

from functools import lru_cache
from importlib.resources import files
from typing import Final

LIGHT: Final = {
    "paper": "#ffffff",
    "ink": "#1b2026",
    "soft": "#56606b",
    "line": "#d9dde2",
    "hatch": "#c3c9d0",
    "pro": "#1a659e",
    "pro-on": "#ffffff",
    "pro-tint": "#dbe9f5",
    "pro-ink": "#124f80",
    "con": "#b24e06",
    "con-on": "#ffffff",
    "con-tint": "#fbe5d3",
    "con-ink": "#883b03",
    "neutral": "#5c646e",
    "neutral-on": "#ffffff",
    "neutral-tint": "#e4e7ea",
    "neutral-ink": "#434a53",
    "warn": "#8a5a00",
}
DARK: Final = {
    "paper": "#14171b",
    "ink": "#e9ebee",
    "soft": "#a7afb9",
    "line": "#333941",
    "hatch": "#4a525c",
    "pro": "#74b7ea",
    "pro-on": "#0a1c2b",
    "pro-tint": "#183349",
    "pro-ink": "#a6d2f4",
    "con": "#f39a58",
    "con-on": "#2a1301",
    "con-tint": "#45280f",
    "con-ink": "#f8bd90",
    "neutral": "#b3bac3",
    "neutral-on": "#15181c",
    "neutral-tint": "#2e343b",
    "neutral-ink": "#ccd2d9",
    "warn": "#f0c060",
}
# Notebooks say their theme on an element above the picture; it may differ from the system's.
_DARK_HOSTS: Final = (
    '[data-jp-theme-light="false"]',
    'html[theme="dark"]',
    '[data-vscode-theme-kind="vscode-dark"]',
)
_LIGHT_HOSTS: Final = ('[data-jp-theme-light="true"]', '[data-vscode-theme-kind="vscode-light"]')


@lru_cache(maxsize=2)
def style_sheet(*, page: bool) -> str:
    """The whole style sheet, as text for a `<style>` element.

    With `page` it also colours the window around the picture, which a fragment must not do.
    """
    rules = files("equipoise.render").joinpath("picture.css").read_text(encoding="utf-8")
    light, dark = _palette("light", LIGHT), _palette("dark", DARK)
    parts = [
        f".equipoise {{{light}}}",
        f"@media (prefers-color-scheme: dark) {{ .equipoise {{{dark}}} }}",
        f"{_inside(_LIGHT_HOSTS)} {{{light}}}",
        f"{_inside(_DARK_HOSTS)} {{{dark}}}",
        rules,
    ]
    if page:
        parts.append(f"body {{ margin: 0; background: {LIGHT['paper']}; }}")
        paper = f"body {{ background: {DARK['paper']}; }}"
        parts.append(f"@media (prefers-color-scheme: dark) {{ {paper} }}")
    return "\n".join(parts)


def _palette(scheme: str, colours: dict[str, str]) -> str:
    variables = " ".join(f"--eq-{name}: {colour};" for name, colour in colours.items())
    return f" color-scheme: {scheme}; {variables} "


def _inside(hosts: tuple[str, ...]) -> str:
    return ", ".join(f"{host} .equipoise" for host in hosts)
