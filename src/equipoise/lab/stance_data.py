"""The stance data on disk: which files a pack takes passages and sentences from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import InputError
from equipoise.lab.pack import Document, Origin
from equipoise.lab.questions import TopicQuestions
from equipoise.retrieval.readers import read_rows
from equipoise.types import Stance

CC_BY_SA_3 = "CC BY-SA 3.0"
CC_BY_SA_4 = "CC BY-SA 4.0"


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the data. `licence` and `credit` are what the data's README states."""

    name: str
    licence: str
    credit: str


NEUTRAL_SOURCE = "ibm_wiki_passages"
"""The one source with neutral texts on the topics of its pro and con texts."""
PASSAGES = (
    Source(NEUTRAL_SOURCE, CC_BY_SA_3, "Bar-Haim et al. 2017 (IBM); Wikipedia contributors"),
    Source("procon20", "MIT (the collectors')", "Hosseinia et al. 2020; texts from procon.org"),
    Source(
        "perspectrum_passages",
        f"{CC_BY_SA_4} (stated beside the released set, not beside these pages)",
        "Chen et al. 2019",
    ),
    Source(
        "ukp_room_for_debate",
        "Apache-2.0 (copyright in the comments is with their authors)",
        "Habernal et al. 2018",
    ),
    Source("ukp_convarg1", "CC BY 4.0", "Habernal and Gurevych 2016"),
)
SENTENCES = (
    Source("ibm_argq30k", CC_BY_SA_3, "Gretz et al. 2020 (IBM)"),
    Source("ibm_argkp2021", "CDLA-Sharing 1.0", "Bar-Haim et al. 2020; Friedman et al. 2021"),
    Source("perspectrum", CC_BY_SA_4, "Chen et al. 2019"),
    Source("ibm_claim_stance", CC_BY_SA_3, "Bar-Haim et al. 2017 (IBM); Wikipedia contributors"),
)
BACKGROUND = (
    Source("wikipedia_topics", CC_BY_SA_3, "Wikipedia contributors; Bar-Haim et al. 2017 (IBM)"),
    Source("xquad_en", CC_BY_SA_4, "Artetxe et al. 2020; Wikipedia contributors"),
)
UNRELATED = ("xquad_en",)
"""Those of `BACKGROUND` that are about none of the topics."""
LEAST_WORDS = 25
"""A shorter text is no passage."""


@dataclass(frozen=True, slots=True)
class Text:
    """One labelled text, its stance turned toward the questions of the pack's topic."""

    id: str
    topic: str
    stance: Stance
    text: str
    source: str


def missing_sources(data: Path) -> list[str]:
    """Sources of passages and sentences that the data lacks. A pack is made without them.

    Raises:
        InputError: the one with neutral texts is among them.
    """
    missing = [s.name for s in (*PASSAGES, *SENTENCES) if _path(data / "stance", s.name) is None]
    if NEUTRAL_SOURCE in missing:
        raise InputError(
            f"{data} must hold stance/{NEUTRAL_SOURCE}.jsonl or .jsonl.gz, and does not: --data "
            "must be a folder of the stance format (see docs/packs.md)"
        )
    return missing


def read_texts(
    data: Path, sources: Sequence[Source], topics: Sequence[TopicQuestions], *, least_words: int = 1
) -> list[Text]:
    """The texts of the topics and of their related ones, in the order of sources and lines.

    A text of a related topic that asks the opposite has pro and con swapped. Neutral texts are
    taken for the topic itself only. Shorter texts than `least_words` are left out. A source that
    the data lacks gives none (see `missing_sources`).

    Raises:
        InputError: a file is damaged, or names an unknown stance.
    """
    wanted = _directions(topics)
    texts: list[Text] = []
    for source in sources:
        for row, place in _rows(data / "stance", source.name):
            for topic, turned in wanted.get(_field(row, "topic", place), ()):
                stance = _stance(row, place)
                own = _field(row, "topic", place) == topic
                body = " ".join(_field(row, "text", place).split())
                if len(body.split()) >= least_words and (own or stance is not Stance.NEUTRAL):
                    name = _field(row, "id", place)
                    side = stance.opposite if turned else stance
                    texts.append(Text(name, topic, side, body, source.name))
    return texts


def read_background(data: Path) -> tuple[Document, ...]:
    """The unlabelled passages under `data/background`. Their own topic is not carried over.

    A passage of a topic's article may well take a side: its stance is unknown, not neutral.

    Raises:
        InputError: there is none, or a file is damaged.
    """
    found = tuple(
        Document(
            _field(row, "id", place),
            " ".join(_field(row, "text", place).split()),
            Origin.BACKGROUND,
            source.name,
        )
        for source in BACKGROUND
        for row, place in _rows(data / "background", source.name)
    )
    if not found:
        names = ", ".join(source.name for source in BACKGROUND)
        raise InputError(
            f"{data / 'background'} must hold passages ({names}), and holds none. Give another "
            "background, or none: --background none"
        )
    return found


def _directions(topics: Sequence[TopicQuestions]) -> dict[str, list[tuple[str, bool]]]:
    """Slug of the data -> (topic of the pack, whether the stance is to be turned round)."""
    wanted: dict[str, list[tuple[str, bool]]] = {}
    for entry in topics:
        wanted.setdefault(entry.topic, []).append((entry.topic, False))
        for slug, direction in entry.related.items():
            wanted.setdefault(slug, []).append((entry.topic, direction == "opposite"))
    return wanted


def _path(folder: Path, name: str) -> Path | None:
    paths = (folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz")
    return next((path for path in paths if path.is_file()), None)


def _rows(folder: Path, name: str) -> Iterator[tuple[Mapping[str, object], str]]:
    path = _path(folder, name)
    if path is not None:
        for row in read_rows(path, relative_to=folder.parent):
            yield row.values, row.place


def _field(row: Mapping[str, object], name: str, place: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        raise InputError(f"{place}: {name!r} must be a text that is not empty, got {value!r}")
    return value


def _stance(row: Mapping[str, object], place: str) -> Stance:
    try:
        return Stance(_field(row, "stance", place))
    except ValueError as error:
        raise InputError(f"{place}: {error}") from error
