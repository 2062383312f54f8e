"""HTML that cannot be built wrongly: every piece of text is escaped, every element is closed."""

from collections.abc import Mapping
from html import escape
from typing import Final

from equipoise.render.cleaning import clean

_VOID: Final = frozenset({"meta", "path", "rect"})


class Markup(str):
    """A string that is HTML already, and is not escaped again."""

    __slots__ = ()


def element(name: str, attributes: Mapping[str, object], *children: str) -> Markup:
    """One element. Children that are `Markup` go in as they are, any other str is escaped.

    An attribute of value None is left out; of value True it stands alone.

    >>> element("b", {"title": '"'}, "1 < 2", element("i", {}))
    '<b title="&quot;">1 &lt; 2<i></i></b>'
    """
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{opening}>" if name == "meta" else f"<{opening}/>")
    return Markup(f"<{opening}>{join(*children)}</{name}>")


def join(*children: str) -> Markup:
    """Pieces of HTML one after the other; text among them is escaped."""
    return Markup(
        "".join(child if isinstance(child, Markup) else _safe(child) for child in children)
    )


def _safe(text: str) -> str:
    return escape(clean(text), quote=True)


def _attribute(key: str, value: object) -> str:
    if value is None:
        return ""
    return f" {key}" if value is True else f' {key}="{_safe(str(value))}"'
