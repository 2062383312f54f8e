import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.lab.pack import Document, Origin, Pack, Topic, write_pack
from equipoise.lab.poison.planted import Poisoned, Share, pack_checksums, shares_of
from equipoise.lab.poison.stance import SIZES, poison
from equipoise.types import Stance

PRO, CON, NEUTRAL = Stance.PRO, Stance.CON, Stance.NEUTRAL


def doc(name, topic, stance, origin=Origin.GENUINE):
    return Document(name, f"é text of {name}", origin, "toy", topic, stance)


def toy_pack(genuine, plantable):
    """One topic a count: `genuine` documents (sides in turn), `plantable` a side."""
    documents = [Document("far", "on no topic", Origin.BACKGROUND, "toy")]
    topics = [f"t{i}" for i in range(len(genuine))]
    for topic, count, held in zip(topics, genuine, plantable, strict=True):
        documents += [doc(f"{topic}-g{i}", topic, (PRO, CON)[i % 2]) for i in range(count)]
        documents.append(doc(f"{topic}-n", topic, NEUTRAL, Origin.NEUTRAL))
        for side in (PRO, CON):
            documents += [
                doc(f"{topic}-{side}-{i}", topic, side, Origin.INJECTED) for i in range(held)
            ]
    return Pack("toy", tuple(Topic(t, t, t) for t in topics), (), tuple(documents))


@pytest.mark.parametrize(("n", "documents"), [(2, 84), (4, 168), (5, 210), (7, 294)])
@pytest.mark.parametrize("side", [PRO, CON])
def test_forty_two_topics_get_the_papers_numbers_of_documents(side, n, documents):
    pack = toy_pack([35] * 42, [7] * 42)
    made = poison(pack, side, n=n)
    assert len(made.documents) == documents
    assert made.short == ()
    assert {d.stance for d in made.documents} == {side}


@pytest.mark.parametrize("n", SIZES)
def test_with_equal_topics_every_share_and_their_mean_is_n_of_thirty_five_and_n(n):
    made = poison(toy_pack([35] * 42, [7] * 42), PRO, n=n)
    assert {share.share for share in made.shares} == {n / (35 + n)}
    assert made.mean_share == pytest.approx(n / (35 + n))


def test_the_mean_share_is_of_topics_and_not_of_documents():
    made = poison(toy_pack([2, 18], [2, 2]), PRO, n=2)
    assert [share.share for share in made.shares] == [0.5, 0.1]
    assert made.mean_share == pytest.approx(0.3)


def test_neutral_background_and_held_out_documents_are_not_in_the_share():
    made = poison(toy_pack([4], [7]), CON, n=4)
    assert made.shares == (Share("t0", genuine=4, planted=4),)


def test_a_topic_that_lacks_documents_is_named_and_its_share_is_of_what_was_planted():
    made = poison(toy_pack([8, 8], [7, 3]), PRO, n=5)
    assert made.short == ("t1",)
    assert [share.planted for share in made.shares] == [5, 3]
    assert made.shares[1].share == 3 / 11


def test_a_topic_with_nothing_in_it_has_no_share_and_is_in_no_mean():
    made = poison(toy_pack([0, 2], [0, 2]), PRO, n=2)
    assert made.shares[0].share is None
    assert made.mean_share == 0.5
    assert made.short == ("t0",)
    assert poison(toy_pack([0], [0]), PRO, n=2).mean_share is None


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(1, 8), st.integers(0, 99))
def test_a_smaller_attack_is_part_of_a_larger_one(plantable, n, seed):
    pack = toy_pack([4] * len(plantable), plantable)
    small, large = (poison(pack, CON, n=size, seed=seed) for size in (n, n + 1))
    assert small.ids <= large.ids
    for topic, held in zip(pack.topics, plantable, strict=True):
        assert sum(d.topic == topic.id for d in small.documents) == min(n, held)


def test_the_same_seed_plants_the_same_and_another_seed_others():
    pack = toy_pack([4] * 20, [7] * 20)
    assert poison(pack, PRO, n=2, seed=1) == poison(pack, PRO, n=2, seed=1)
    assert poison(pack, PRO, n=2, seed=1).ids != poison(pack, PRO, n=2, seed=2).ids


def test_the_order_of_the_pack_does_not_change_what_is_planted():
    pack = toy_pack([4] * 3, [7] * 3)
    turned = Pack("toy", pack.topics, (), pack.documents[::-1])
    assert poison(pack, PRO, n=3).ids == poison(turned, PRO, n=3).ids


def test_topics_are_drawn_independently_of_one_another():
    alone, beside = toy_pack([4], [7]), toy_pack([4, 4], [7, 7])
    assert poison(alone, PRO, n=3).ids == {
        d.id for d in poison(beside, PRO, n=3).documents if d.topic == "t0"
    }


def test_the_corpus_is_the_clean_documents_and_the_planted_ones():
    pack = toy_pack([2], [3])
    made = poison(pack, PRO, n=2)
    assert made.corpus(pack) == (*pack.clean, *made.documents)
    assert len(made.corpus(pack)) == len(pack.clean) + 2
    assert not any(d.stance is CON and d.origin is Origin.INJECTED for d in made.corpus(pack))


def test_other_documents_may_be_planted_in_place_of_the_packs_own():
    pack = toy_pack([2], [3])
    ours = [doc("mine", "t0", PRO, Origin.INJECTED), doc("other", "t0", CON, Origin.INJECTED)]
    made = poison(pack, PRO, n=2, documents=ours)
    assert made.ids == {"mine"}
    assert made.short == ("t0",)


def test_a_planted_document_with_the_id_of_a_clean_one_is_refused():
    pack = toy_pack([2], [3])
    made = poison(pack, PRO, n=1, documents=[doc("t0-g0", "t0", PRO, Origin.INJECTED)])
    with pytest.raises(InputError, match="'t0-g0'"):
        made.corpus(pack)


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_less_than_one_document_a_topic_is_refused(n):
    with pytest.raises(InputError, match="n must be an int >= 1"):
        poison(toy_pack([2], [2]), PRO, n=n)


def test_no_side_is_no_direction():
    with pytest.raises(InputError, match="pro or con"):
        poison(toy_pack([2], [2]), NEUTRAL, n=1)


@pytest.mark.parametrize(
    "planted",
    [
        doc("x", "t0", CON, Origin.INJECTED),
        doc("x", "t0", PRO, Origin.GENUINE),
        doc("x", "elsewhere", PRO, Origin.INJECTED),
    ],
)
def test_a_document_that_was_not_planted_for_this_is_refused(planted):
    with pytest.raises(InputError, match="'x'"):
        Poisoned("stance", PRO, 1, 0, (planted,), (Share("t0", 1, 1),))


def test_an_id_planted_twice_is_refused():
    planted = doc("x", "t0", PRO, Origin.INJECTED)
    with pytest.raises(InputError, match="unique"):
        Poisoned("stance", PRO, 1, 0, (planted, planted), (Share("t0", 1, 2),))


def test_the_checksums_of_a_pack_in_memory_are_those_of_its_files(tmp_path):
    import json

    pack = toy_pack([3, 1], [2, 0])
    write_pack(pack, tmp_path / "pack")
    manifest = json.loads((tmp_path / "pack" / "manifest.json").read_text())
    assert pack_checksums(pack) == manifest["checksums"]


def test_shares_are_in_the_packs_order_and_count_topics_that_got_nothing():
    pack = toy_pack([3, 1], [2, 2])
    assert shares_of(pack, ()) == (Share("t0", 3, 0), Share("t1", 1, 0))
