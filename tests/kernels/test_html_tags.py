"""Tags of HTML weighed by a kernel and by regular expressions, which say the same in other words."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels.html_tags import TagWeights, weigh_tags

FORMATTING = b"a b big code em font i nobr s small strike strong tt u".split()
WRITTEN = rb"""
    < > / = ' " ` b i a font strong nobr strikes html body option optgroup optional color=red href='x>' x="y" q=/z x
    <b> <b <I> <i/> <a <A </b> <font <BIG> <small <html <body <option> <OPTGROUP <!--<b>--> <1 <b_<i> <strong
"""
PIECES = st.sampled_from([*WRITTEN.split(), b" ", b"\n", b"\x0b", b"\xff", b"\xc3\xa9", b"x" * 70])
SPACE = rb"[\t\n\x0b\f\r ]"
VALUE = rb"\"[^\"]*\"|'[^']*'|[^\t\n\x0b\f\r \"'<>=`]+"
TAG = re.compile(rb"<([^<>]*)(?=(<?))")
NAME = re.compile(rb"[a-zA-Z]+(?=[\t\n\x0b\f\r /]|$)")
PLAIN = re.compile(
    rb"(?:%b+[^\t\n\x0b\f\r \"'<>=/]+(?:=(?:%b))?)*+%b*" % (SPACE, VALUE, SPACE),
)


def weighed(text: bytes) -> TagWeights:
    joined = options = links = 0
    longest, are_plain, weight, bare = 0, True, 0, Counter[bytes]()
    for inside, behind in TAG.findall(text):
        longest = max(longest, len(inside))
        found = NAME.match(inside)
        name = b"" if found is None else found[0].lower()
        attributes = inside[len(name) :]
        joined += len(attributes) * (name in (b"html", b"body"))
        options += name in (b"option", b"optgroup")
        if name not in FORMATTING:
            continue
        one = 1 + len(attributes) // 64
        if behind or PLAIN.fullmatch(attributes) is None:
            are_plain = False
        elif name == b"a":
            links = max(links, one)
        elif attributes:
            weight += one
        else:
            bare[name] += 1
    weight += sum(min(3, count) for count in bare.values())
    return TagWeights(longest, joined, options, weight + links, are_plain)


@given(st.lists(PIECES, max_size=40).map(b"".join))
@settings(deadline=None, max_examples=500)
def test_the_weights_are_those_that_regular_expressions_find(text: bytes) -> None:
    assert weigh_tags(text) == weighed(text)


def test_bare_elements_count_three_times_links_once_and_long_attributes_as_elements() -> None:
    text = b"<b>" * 9 + b"<B>" + b"<i>" + b"<a href=1>" * 5 + b"<a title='" + b"x" * 120 + b"'>" + b"<u id=1>" * 4

    assert weigh_tags(text) == TagWeights(130, 0, 0, 3 + 1 + 3 + 4, True)


def test_a_quote_or_name_by_which_a_tag_may_go_on_is_told() -> None:
    goes_on = (b"<b id='>'>", b"<b id=x'>", b"<b/>", b"<b id<x>")
    ends = (b"<p id='>", b"<p id<x>", b"<b id", b"<b id>")

    assert not any(weigh_tags(tag).are_plain for tag in goes_on)
    assert all(weigh_tags(tag).are_plain for tag in ends)
