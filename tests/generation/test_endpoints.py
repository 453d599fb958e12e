"""Prompts of endpoints: roles, instances and positions as rows of tokens have them."""

import pytest

from lisdata.encoding.characters import CharacterTokenizer
from lisdata.generation.endpoints import lay_out

ROLES = ("<none>", "likes#subject", "likes#value", "paragraph#token")
TOKENIZER = CharacterTokenizer(tuple(map(ord, " abc")))


def test_the_participant_asked_for_is_in_the_facts_instance() -> None:
    found = lay_out("c", [("likes#subject", "ab")], "likes#value", roles=ROLES, tokenizer=TOKENIZER)

    assert found.token_ids == [1, 2, 3]
    assert found.structure == {"role": [1, 1, 2, 2], "instance": [0, 0, 0, 0], "position": [0, 1, 0, 1]}


def test_text_after_facts_is_an_instance_of_its_own_and_the_role_by_default() -> None:
    found = lay_out("a b", [("likes#subject", "a"), ("likes#value", "b")], None, roles=ROLES, tokenizer=TOKENIZER)

    assert found.structure["role"] == [1, 2, 3, 3, 3, 3]
    assert found.structure["instance"] == [0, 0, 1, 1, 1, 1]
    assert found.structure["position"] == [0, 0, 0, 1, 2, 3]


def test_an_empty_prompt_still_says_where_the_first_token_stands() -> None:
    found = lay_out("", [("likes#subject", "a")], "likes#value", roles=ROLES, tokenizer=TOKENIZER)

    assert (found.token_ids, found.structure["role"]) == ([1], [1, 2])


def test_positions_count_on_where_a_role_comes_again() -> None:
    facts = [("likes#value", "ab"), ("likes#value", "c")]

    found = lay_out("", facts, "likes#value", roles=ROLES, tokenizer=TOKENIZER)

    assert found.structure["position"] == [0, 1, 2, 3]


def test_a_role_that_the_data_lack_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no role 'hates#value': expected one of likes#subject, likes#value"):
        lay_out("a", [], "hates#value", roles=ROLES, tokenizer=TOKENIZER)
    with pytest.raises(ValueError, match="no text: expected the role to go on with"):
        lay_out("a", [], None, roles=ROLES[:3], tokenizer=TOKENIZER)
