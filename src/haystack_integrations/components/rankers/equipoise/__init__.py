"""equipoise as a Haystack ranker (extra `haystack`), in the one place saved pipelines load from."""

from haystack_integrations.components.rankers.equipoise.ranker import EquipoiseRanker

__all__ = ["EquipoiseRanker"]
