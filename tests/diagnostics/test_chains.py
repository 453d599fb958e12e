"""Synthetic facts of LIS appendix F.4: how many there are, and what each says."""

from __future__ import annotations

import pytest

from lisdata.diagnostics.chains import DOMAINS, ChainWorld, draw_name_sets, draw_names, list_relations
from lisdata.diagnostics.templates import num_variants, write_sentence


def test_facts_and_sentences_are_as_many_as_the_paper_says() -> None:
    world = ChainWorld(draw_names(3000, 0), 1)

    assert world.num_facts == 134_935
    assert sum(num_variants(arity) * world.num_facts_of(arity) for arity in (2, 3)) == 6_116_520
    assert ChainWorld(draw_names(100, 0), 1).num_facts == 4_435
    relations = dict(list_relations())
    assert sorted(len(roles) for roles in relations.values()) == [2] * 25 + [3] * 20


def test_every_window_of_a_chain_comes_under_every_run_of_roles_once() -> None:
    world = ChainWorld(draw_names(7, 0), 1)

    found = [(f.domain, f.role, f.place, len(f.names)) for f in world]

    assert len(found) == len(set(found)) == world.num_facts
    expected = {
        (domain, role, place, arity)
        for domain in DOMAINS
        for arity in (2, 3)
        for role in range(7 - arity)
        for place in range(8 - arity)
    }
    assert set(found) == expected
    for fact in world:
        assert fact.names == world.chains[fact.domain][fact.place : fact.place + len(fact.names)]
        assert fact.roles == DOMAINS[fact.domain][fact.role : fact.role + len(fact.names)]


def test_a_chain_holds_every_name_once() -> None:
    names = draw_names(50, 3)

    chains = ChainWorld(names, 5).chains

    assert all(sorted(chain) == sorted(names) for chain in chains.values())
    assert len(set(chains.values())) == len(DOMAINS)


def test_names_are_distinct_of_two_to_eight_letters_and_avoid_those_taken() -> None:
    first = draw_names(300, 0)
    second = draw_names(300, 0, taken=frozenset(first[:100]))

    assert len(set(first)) == 300
    assert {len(name) for name in first} == set(range(2, 9))
    assert all(name.isascii() and name.isalpha() and name.islower() for name in first)
    assert not set(second) & set(first[:100])
    assert draw_names(300, 0) == first


def test_a_world_of_too_few_names_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 3 names"):
        ChainWorld(("a", "b"), 0)


def test_a_fact_beyond_the_last_is_an_index_error() -> None:
    world = ChainWorld(draw_names(5, 0), 0)

    with pytest.raises(IndexError):
        world.fact(world.num_facts)


@pytest.mark.parametrize("arity", [2, 3])
def test_each_sentence_is_another_one_and_says_all_names_in_their_roles(arity: int) -> None:
    participants = [("son", "adam"), ("father", "brian"), ("grandfather", "carl")][:arity]

    sentences = [write_sentence("family", participants, n) for n in range(num_variants(arity))]

    assert len({s.text for s in sentences}) == num_variants(arity) == {2: 24, 3: 72}[arity]
    for sentence in sentences:
        assert [sentence.text[b:e] for b, e, _ in sentence.mentions] == [name for _, _, name in sentence.mentions]
        assert sorted(name for _, _, name in sentence.mentions) == sorted(name for _, name in participants)
        for role, name in participants:
            said = (f"{name} is the {role}", f"the {role} is {name}", f"{name} as the {role}")
            assert any(words in sentence.text for words in said)
        assert sentence.text.endswith(".")


def test_the_two_templates_that_the_paper_prints_are_there() -> None:
    participants = [("son", "adam"), ("father", "brian")]
    texts = {write_sentence("family", participants, n).text for n in range(24)}

    assert "if adam is the son, the father is brian." in texts
    assert "in the family, if adam is the son, then brian is the father." in texts


def test_names_that_are_words_of_a_template_are_found_where_they_stand() -> None:
    sentence = write_sentence("work", [("boss", "is"), ("captain", "the")], 0)

    assert [(sentence.text[b:e], n) for b, e, n in sentence.mentions] == [("is", "is"), ("the", "the")]
    assert sentence.text == "if is is the boss, the captain is the."


def test_sets_of_names_are_disjoint_and_those_of_one_draw() -> None:
    sets = draw_name_sets(12, 5, 3)

    assert list(sets) == ["train", "dev", "test"]
    assert [len(names) for names in sets.values()] == [12, 5, 5]
    assert tuple(name for names in sets.values() for name in names) == draw_names(22, 3)
