"""Texts in a language that the model does not know are not read, and said not to be."""

import pytest

from equipoise import Balancer
from equipoise.data import clean_corpus, contested
from equipoise.stance import load_detector
from equipoise.stance.base import FOREIGN
from equipoise.stance.cached import CachedDetector
from equipoise.stance.language import is_foreign
from equipoise.types import Reason, Stance

QUESTION = "Should zoos be banned?"
FOR = "Animals suffer in cages; zoos are cruel and should be banned at once."
FOREIGN_TEXTS = {
    "German": "Der Zoo ist grausam, weil Tiere in engen Käfigen leiden und die Besucher dabei "
    "nichts lernen. Deshalb sollte man die Tiergärten endlich schließen.",
    "French": "Les parcs zoologiques devraient être fermés, car les animaux y souffrent dans des "
    "cages et les visiteurs n'apprennent rien de leur vie sauvage.",
    "Spanish": "Los zoológicos deberían cerrarse, porque los animales sufren en las jaulas y los "
    "visitantes no aprenden nada sobre su vida en libertad.",
    "Italian": "Gli zoo dovrebbero essere chiusi, perché gli animali soffrono nelle gabbie e i "
    "visitatori non imparano niente della loro vita selvatica.",
    "Dutch": "Dierentuinen zouden gesloten moeten worden, want de dieren lijden in hun kooien en "
    "de bezoekers leren niets over hun leven in de natuur.",
    "Polish": "Ogrody zoologiczne powinny zostać zamknięte, ponieważ zwierzęta cierpią w klatkach, "
    "a zwiedzający niczego się nie uczą.",
    "Turkish": "Hayvanat bahçeleri kapatılmalıdır, çünkü hayvanlar kafeslerde acı çekiyor ve "
    "ziyaretçiler hiçbir şey öğrenmiyor.",
    "Finnish": "Eläintarhat pitäisi sulkea, koska eläimet kärsivät häkeissään eivätkä kävijät opi "
    "mitään niiden elämästä luonnossa.",
    "Russian": "Зоопарки следует закрыть, потому что животные страдают в клетках.",
    "Chinese": "动物园应当被禁止，因为动物在笼子里受苦，公众也学不到东西。",
    "Arabic": "يجب إغلاق حدائق الحيوان لأن الحيوانات تعاني في الأقفاص.",
    "Thai": "ควรปิดสวนสัตว์เพราะสัตว์ต้องทนทุกข์ในกรง",
}
ENGLISH = [
    FOR,
    "Zoos: cruel, outdated, pointless.",
    "Sympathomimetics such as amphetamine and methylphenidate are contraindicated in patients with "
    "phaeochromocytoma, hyperthyroidism and atherosclerosis.",
    "As Camus wrote, «il faut imaginer Sisyphe heureux», and so it is with the keepers of a zoo, "
    "who go on with what they do although they know that it will not be enough.",
    "Zoo 1908: 200 employees, 5,300 animals, 1.4 M visitors; https://zoo.example/en?x=1#about",
    "2019 | 17 | 4.5\n2020 | 18 | 4.6\n2021 | 19 | 4.7",
    "Naturopathy = quackery!!!",
    "Antidisestablishmentarianism",
    "pH, π and Ångström",
    "",
    "😀😀😀",
    "Zoo \u2013 \u201ccruel\u201d? It\u2019s what they don\u2019t say: they\u2019re \u2018saved\u2019\u2014from whom?",
]


@pytest.fixture(scope="module")
def detector():
    return load_detector("default")


@pytest.fixture(scope="module")
def pieces_of(detector):
    return detector._loaded().tokenizer.pieces


@pytest.mark.parametrize("language", FOREIGN_TEXTS)
def test_a_text_in_another_language_gets_no_label(detector, language):
    read, unread = detector.detect(QUESTION, [FOR, FOREIGN_TEXTS[language]])
    assert read.label is Stance.PRO
    assert unread == FOREIGN
    assert unread.windows == 0


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_read_with_terms_quotes_numbers_and_links(pieces_of, text):
    assert not is_foreign(text, pieces_of)


def test_every_text_and_question_of_the_embedded_corpus_is_read(pieces_of):
    texts = [document.text for document in clean_corpus()]
    texts += [topic.question for topic in contested()]
    assert len(texts) > 100
    assert [text for text in texts if is_foreign(text, pieces_of)] == []


def test_texts_beside_a_foreign_one_are_read_as_before(detector):
    alone = detector.detect(QUESTION, [FOR])
    beside = detector.detect(QUESTION, [FOREIGN_TEXTS["German"], FOR, FOREIGN_TEXTS["Thai"]])
    assert beside[1] == alone[0]


def test_a_question_in_another_language_leaves_all_texts_unread(detector):
    scores = detector.detect("Следует ли запретить зоопарки?", [FOR, ""])
    assert scores[0] == FOREIGN
    assert scores[1].label is Stance.NEUTRAL
    assert scores[1] != FOREIGN


def test_the_detector_says_in_its_name_that_it_checks(detector):
    assert ":english=v1" in detector.name


def test_a_model_that_names_no_language_or_several_reads_everything(tmp_path, detector):
    import json
    import shutil

    for languages in ([], ["en", "de"]):
        folder = tmp_path / f"model{len(languages)}"
        shutil.copytree(detector._folder.path, folder)
        (folder / "SHA256SUMS").unlink()
        config = json.loads((folder / "config.json").read_text())
        config["equipoise"]["languages"] = languages
        (folder / "config.json").write_text(json.dumps(config))
        other = load_detector(str(folder))
        assert other.detect(QUESTION, [FOREIGN_TEXTS["German"]])[0].windows == 1
        assert "english" not in other.name


def test_a_selection_tells_what_was_not_read_and_gives_it_no_seat_of_its_own(detector):
    texts = [FOREIGN_TEXTS["German"], FOREIGN_TEXTS["Russian"], FOR]
    texts += ["A zoo was opened in the city in 1908.", "Zoos save species and should stay open."]
    selection = Balancer(detector=detector).balance(QUESTION, texts)
    assert selection.unreadable == (1, 2)
    for row in selection.ranked:
        assert row.unsure is (row.retrieval_rank in (1, 2))
    reasons = {choice.retrieval_rank: choice.reason for choice in selection.chosen}
    assert reasons[1] is reasons[2] is Reason.FILLED
    told = " ".join(str(selection).split())
    assert "Not read: 2 documents, as the detector does not know their language" in told
    assert "ranks 1, 2: another language" in told
    assert "not read" in selection.to_html()


def test_what_was_not_read_is_still_known_after_json_and_from_a_cache(detector, tmp_path):
    texts = [FOREIGN_TEXTS["Thai"], FOR]
    for _ in range(2):
        with CachedDetector(detector, path=tmp_path / "labels.sqlite") as cached:
            selection = Balancer(detector=cached).balance(QUESTION, texts)
        assert selection.unreadable == (1,)
        assert type(selection).from_dict(selection.to_dict()).unreadable == (1,)


def test_nothing_is_said_where_all_was_read(detector):
    selection = Balancer(detector=detector).balance(QUESTION, [FOR, " "])
    assert selection.unreadable == ()
    assert "Not read" not in str(selection)
