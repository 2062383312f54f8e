"""The page at `/`: question and documents in, the picture of the choice out.

Files of this folder, served as they are: no build step, and nothing from elsewhere. The page
speaks to the same routes as any client.
"""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

from equipoise.render.style import style_sheet
from equipoise.server.service import Service

_SCRIPT: Final = "text/javascript; charset=utf-8"
_FILES: Final = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/favicon.ico": ("icon.svg", "image/svg+xml"),
    "/page/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page/page.js": ("page.js", _SCRIPT),
    "/page/documents.js": ("documents.js", _SCRIPT),
    "/page/server.js": ("server.js", _SCRIPT),
    "/page/result.js": ("result.js", _SCRIPT),
}
_EXAMPLE: Final = "/page/example.json"
PATHS: Final = frozenset({*_FILES, _EXAMPLE})
"""What a browser loads before anyone has shown a key; it is the same on every server."""

_TOPIC: Final = "basic-income"
# The order in which all-MiniLM-L6-v2 finds them for the question, among the whole embedded
# corpus, once five passages of one side ("plant") were slipped in.
_FOUND: Final = (
    *("plant-con-01", "plant-con-05", "plant-con-02", "plant-con-03", "plant-con-04"),
    *("neutral-01", "con-01", "neutral-03", "pro-05", "pro-01", "neutral-04", "pro-03"),
)


def router(service: Service) -> APIRouter:
    """The routes of the page; they need nothing of the service, not even its model."""
    routes = APIRouter(include_in_schema=False)
    for path, (name, media_type) in _FILES.items():
        _add(routes, path, files(__name__).joinpath(name).read_bytes(), media_type)
    _add(routes, _EXAMPLE, json.dumps(example()).encode(), "application/json")
    return routes


def example() -> dict[str, object]:
    """A question and a dozen passages of the embedded corpus, the first five of one side."""
    from equipoise.data import topic

    entry = topic(_TOPIC)
    texts = {document.id: document.text for document in entry.documents}
    return {
        "question": entry.question,
        "documents": [texts[f"{_TOPIC}-{name}"] for name in _FOUND],
    }


def policy() -> str:
    """The Content-Security-Policy: own files, and the one style sheet that the picture brings."""
    digest = hashlib.sha256(style_sheet(page=False).encode()).digest()
    picture = f"'sha256-{base64.b64encode(digest).decode()}'"
    return (
        "default-src 'none'; script-src 'self'; "
        f"style-src 'self' {picture}; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _add(routes: APIRouter, path: str, body: bytes, media_type: str) -> None:
    headers = {
        "Content-Security-Policy": policy(),
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-cache",
    }

    async def asset() -> Response:
        return Response(body, media_type=media_type, headers=headers)

    routes.add_api_route(path, asset, methods=["GET", "HEAD"])
