"""What a call costs, in US dollars."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from equipoise.errors import InputError

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelUsage

_FREE: Final = frozenset(("equipoise", "mockllm", "hf", "vllm", "sglang", "ollama"))
"""Providers that run on this machine, or nowhere."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens read and written, >= 0; prompts in a vendor's cache apart.

    `cache_read` and `cache_write` are for tokens of a prompt that come from or go into the vendor's
    cache; None: as `read`.

    Raises:
        InputError: a price is negative or no number.

    >>> Price.parse("1.25,10").read
    1.25
    """

    read: float
    write: float
    cache_read: float | None = None
    cache_write: float | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise InputError(f"a price must be a number of dollars >= 0, got {value}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The price in `1.25,10`: dollars a million tokens in, and out.

        Raises:
            InputError: these are not two numbers >= 0.
        """
        try:
            read, write = (float(part) for part in text.split(","))
        except ValueError as error:
            raise InputError(
                "a price is written as dollars a million tokens in and out, such as 1.25,10; "
                f"got {text!r}"
            ) from error
        return cls(read, write)

    def cost(self, usage: "ModelUsage") -> float:
        """US dollars of one call."""
        own = (self.cache_read, self.cache_write)
        kinds = (usage.input_tokens_cache_read, usage.input_tokens_cache_write)
        total = usage.input_tokens * self.read + usage.output_tokens * self.write
        for tokens, price in zip(kinds, own, strict=True):
            total += (tokens or 0) * (self.read if price is None else price)
        return total / 1e6


def price_of(model: "Model") -> Price | None:
    """What inspect knows of a model's price; None where it knows none."""
    from inspect_ai.model import get_model_info

    if str(model).partition("/")[0] in _FREE:
        return None
    info = get_model_info(model)
    cost = None if info is None else info.cost
    if cost is None:
        return None
    return Price(cost.input, cost.output, cost.input_cache_read, cost.input_cache_write)
