"""inspect's OpenAI-compatible client, spoken to a server of our own on this machine."""

from inspect_ai.model import GenerateConfig
from inspect_ai.model._providers.openai_compatible import OpenAICompatibleAPI
from openai import AsyncOpenAI

from equipoise.generation.local import LocalGenerator
from equipoise.lab.answers.serve import Loopback

_PATIENCE_S = 3600.0


class LoopbackAPI(OpenAICompatibleAPI):
    """Speaks to `server` and to nothing else.

    The address is left out of `base_url`: that is part of inspect's cache key, and the port is
    another one each time.
    """

    def __init__(
        self, model_name: str, server: Loopback, generator: LocalGenerator, config: GenerateConfig
    ) -> None:
        self._loopback = server
        self._generator = generator
        super().__init__(
            model_name,
            base_url="loopback",  # never dialled: see _create_client
            api_key=server.key,
            config=config,
            service="equipoise",
            client_timeout=_PATIENCE_S,  # a slow machine, and others before it in the queue
        )

    def _create_client(self) -> AsyncOpenAI:
        """A client of the loopback server, whatever `base_url` says."""
        return AsyncOpenAI(
            api_key=self._loopback.key,
            base_url=self._loopback.url,
            http_client=self.http_client,
            timeout=_PATIENCE_S,
            max_retries=0,  # inspect tries again by itself
        )

    def service_model_name(self) -> str:
        """The name that the server knows."""
        return str(self._loopback.model)

    def max_connections(self) -> int:
        """One: requests are answered one at a time."""
        return 1

    def close(self) -> None:
        """End the server and the model."""
        self._loopback.close()
        self._generator.close()
