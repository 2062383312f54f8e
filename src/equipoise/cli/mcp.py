"""`equipoise mcp`: the balancer as a tool for agents, over the Model Context Protocol."""

from typing import Annotated

import typer

from equipoise.cli._options import Detector, GateMode, NamedIndexes, SourceKey, UnsureBelow


def mcp(
    index: NamedIndexes = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help="Serve HTTP on 127.0.0.1 at this port (/mcp), not stdio."
        ),
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", help="Documents to choose where a call does not say.")
    ] = None,
    gate: GateMode = "auto",
    detector: Detector = None,
    unsure_below: UnsureBelow = None,
    sources: SourceKey = None,
) -> None:
    """Serve the tool balance_documents to an agent: over stdio, or HTTP with --port."""
    from equipoise.balancer import Balancer
    from equipoise.cli._io import note, settings_with
    from equipoise.cli._serving import check_free, named_indexes
    from equipoise.integrations.mcp import create_mcp_server
    from equipoise.selection.gate import Gate
    from equipoise.selection.sources import Sources
    from equipoise.stance import load_detector
    from equipoise.types import Quota

    settings = settings_with({"detector": detector, "unsure_below": unsure_below})
    balancer = Balancer(
        detector=load_detector(settings.detector, threads=settings.detector_threads),
        quota=Quota() if k is None else Quota().scaled(k),
        gate=Gate.named(gate),
        unsure_below=settings.unsure_below,
        sources=Sources(sources) if sources is not None else None,
    )
    server = create_mcp_server(balancer, indexes=named_indexes(index or []))
    if port is None:
        server.run()
    else:
        check_free(port)
        note(f"Serving on http://127.0.0.1:{port}/mcp")
        server.run("streamable-http", host="127.0.0.1", port=port)
