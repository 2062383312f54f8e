"""`equipoise serve`: the balancer behind HTTP, for rerankers' clients and for people."""

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli._options import BaseUrl, Detector, GateMode, NamedIndexes, SourceKey, UnsureBelow


def serve(
    host: Annotated[
        str,
        typer.Option(
            help="Address to bind; others than this machine's own reach it only if you say so."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    index: NamedIndexes = None,
    k: Annotated[
        int | None, typer.Option("-k", help="Documents to choose where a request does not say.")
    ] = None,
    gate: GateMode = "auto",
    detector: Detector = None,
    unsure_below: UnsureBelow = None,
    sources: SourceKey = None,
    on_error: Annotated[
        str, typer.Option(help="When the stance model fails: raise (503), or relevance.")
    ] = "raise",
    model: Annotated[
        str, typer.Option(help="Writes answers: local, openai:NAME, anthropic:NAME, ...; or none.")
    ] = "none",
    base_url: BaseUrl = None,
    keys_file: Annotated[
        Path | None, typer.Option(help="A file of bearer keys, one a line; none leaves it open.")
    ] = None,
    keys_env: Annotated[
        str | None, typer.Option(help="The NAME of an environment variable that holds such keys.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name that clients use for this server, or * for any; may be given again. "
            "Bound to this machine alone, it answers to localhost only."
        ),
    ] = None,
    log_text: Annotated[
        bool, typer.Option("--log-text", help="Also log questions and documents.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Requests worked on at once; one more than the cores.")
    ] = None,
    queue: Annotated[int, typer.Option(help="Requests that may wait; more get 503.")] = 64,
    timeout: Annotated[float, typer.Option(help="Longest time of one request, seconds.")] = 60.0,
    remembered: Annotated[
        int, typer.Option(help="Labels kept in memory for questions that come again; 0 for none.")
    ] = 100_000,
    max_body_mb: Annotated[float, typer.Option(help="Largest body, MB.")] = 4.0,
    max_documents: Annotated[int, typer.Option(help="Most documents of one request.")] = 1_000,
    max_characters: Annotated[int, typer.Option(help="Longest document, characters.")] = 200_000,
) -> None:
    """Serve the balancer over HTTP: /v1/balance, the rerank APIs, and a page at /."""
    from equipoise.balancer import Balancer
    from equipoise.cli._io import note, settings_with
    from equipoise.cli._serving import answered_hosts, named_indexes, serving_generator
    from equipoise.selection.gate import Gate
    from equipoise.selection.sources import Sources
    from equipoise.server import Limits, create_app
    from equipoise.server.auth import read_keys
    from equipoise.server.run import run
    from equipoise.stance import load_detector
    from equipoise.types import Quota

    settings = settings_with(
        {"model": model, "base_url": base_url, "detector": detector, "unsure_below": unsure_below}
    )
    limits = Limits(
        body_bytes=round(max_body_mb * 2**20),
        documents=max_documents,
        document_characters=max_characters,
        **({} if workers is None else {"workers": workers}),
        queue=queue,
        timeout_s=timeout,
        remembered=remembered,
    )
    keys = read_keys(keys_file, keys_env)
    if not keys and answered_hosts(host, []) is None:
        note(f"Everyone who reaches {host} may use this server: it has no keys (--keys-file).")
    generator, template = serving_generator(settings)
    balancer = Balancer(
        detector=load_detector(settings.detector, threads=settings.detector_threads),
        quota=Quota() if k is None else Quota().scaled(k),
        gate=Gate.named(gate),
        on_error=on_error,  # type: ignore[arg-type]  # the Balancer checks it
        unsure_below=settings.unsure_below,
        sources=Sources(sources) if sources is not None else None,
    )
    app = create_app(
        balancer,
        retrievers=named_indexes(index or []),
        generator=generator,
        template=template,
        keys=keys,
        limits=limits,
        hosts=answered_hosts(host, allow_host or []),
        log_text=log_text,
    )
    run(app, host=host, port=port, limits=limits, listening=lambda url: note(f"Serving on {url}"))
