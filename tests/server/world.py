"""Twelve documents in retrieval order, and the balanced sets that a hand picks from them."""

from equipoise import Balancer
from equipoise.server import create_app
from equipoise.testing import FakeDetector, ListRetriever

QUESTION = "Should towns plant more trees?"

STANCES = {
    "Shade from oaks keeps streets cool in July.": "pro",
    "Birds return once birches line an avenue.": "pro",
    "House prices rise next to a row of limes.": "pro",
    "Roots drink storm water before cellars flood.": "pro",
    "Falling branches injure walkers every winter.": "con",
    "Leaves filter soot out of the morning air.": "pro",
    "The council counted 4,100 trunks in 2019.": "neutral",
    "Children play longer where maples stand.": "pro",
    "Pollen makes spring a misery for many.": "con",
    "A plane tree can live three hundred years.": "neutral",
    "Shops sell more under a green canopy.": "pro",
    "Pavements crack and pruning eats the budget.": "con",
}
TEXTS = list(STANCES)

# By hand: 2 pro + 2 con + 1 neutral; 1 + 1 + 1; 4 + 4 + 2, where the fourth con is missing and
# the next by rank takes its seat. Indices, in retrieval order.
FIVE = [0, 1, 4, 6, 8]
THREE = [0, 4, 6]
TEN = [0, 1, 2, 3, 4, 5, 6, 8, 9, 11]


def app(**given):
    """The server over these documents' stances, with an index `trees` of them."""
    detector = FakeDetector(STANCES, default="neutral")
    given.setdefault("retrievers", {"trees": ListRetriever(TEXTS)})
    return create_app(Balancer(detector=detector), **given)
