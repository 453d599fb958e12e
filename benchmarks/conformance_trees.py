"""The suites of trees (HTML, JSON, source code): rows of what ours and a peer get right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
from conformance_rows import SuiteRow
from html5lib_trees import IDENTIFIERS, html5lib_cases, is_known_deviation, read_cases
from independent_checks import iter_html_nodes
from json_test_suite import accepted_files, iter_suite
from tree_sitter_corpus import corpus_cases, s_expression, structure_of, without_statements

_FOREIGN = re.compile(r"<(?:svg|math) |(?<=\s)(xlink|xml|xmlns) (?=[a-z]+=)")


def _accepts(read: Callable[[bytes], Any], data: bytes) -> bool:
    try:
        read(data)
    except (ValueError, RecursionError):  # of which the errors of parsers are children
        return False
    return True


def html5lib(kg: Path) -> Iterator[SuiteRow]:
    """Yield the rows of html5lib's trees; the peer is a walk of selectolax's nodes, namespaces left out of account."""
    archive = kg / "html/html5lib_tree_construction.tar.gz"
    cases = read_cases(archive)
    for kind, is_fragment in (("document", False), ("fragment", True)):
        chosen = [(case, equal) for case, equal in cases if ("document-fragment" in case) == is_fragment]
        known = sum(not equal and is_known_deviation(case) for case, equal in chosen)
        yield SuiteRow(
            suite=f"html5lib trees, {kind}s",
            kind="eval",
            cases=len(chosen),
            ours=sum(equal for _, equal in chosen),
            peer=sum(_is_outline_alone(case) for case, _ in chosen),
            peer_name="selectolax",
            notes=f"of the others {known} are of a newer standard (<select>, instructions) or run a script",
        )
    left_out = len(html5lib_cases(archive)) - len(cases)
    if left_out:
        yield SuiteRow(
            suite="html5lib trees, fragments of SVG and MathML",
            kind="eval",
            cases=left_out,
            ours=0,
            peer=0,
            peer_name="selectolax",
            notes="no document is one, so none is read",
        )


def _is_outline_alone(case: dict[str, str]) -> bool:
    context = case.get("document-fragment", "").split()
    options: dict[str, Any] = {"is_fragment": True, "fragment_tag": context[-1]} if context else {}
    nodes = iter_html_nodes(case["data"], scripting="script-on" in case, **options)
    expected = _FOREIGN.sub(lambda m: "<" if m[1] is None else f"{m[1]}:", case["document"].rstrip("\n"))
    return "\n".join(_outline_alone(nodes)) == expected


def _outline_alone(nodes: Iterable[tuple[int, str, str, tuple[tuple[str, str], ...]]]) -> Iterator[str]:
    deeper: list[int] = []  # the depths of the templates around, whose content is one level deeper
    for depth, tag, text, attributes in nodes:
        while deeper and deeper[-1] >= depth:
            deeper.pop()
        indent = "| " + "  " * (depth + len(deeper))
        if tag == "-text":
            yield f'{indent}"{text}"'
        elif tag == "-comment":
            yield f"{indent}<!-- {text[4:-3]} -->"
        elif tag == "-doctype":
            yield indent + _doctype(text)
        elif tag.startswith("-") or not tag:
            yield f"{indent}{text}"
        else:
            yield f"{indent}<{tag}>"
            yield from sorted(f'{indent}  {name}="{value}"' for name, value in attributes)
            if tag == "template":
                yield f"{indent}  content"
                deeper.append(depth)


def _doctype(text: str) -> str:
    name, _, rest = text.removeprefix("<!DOCTYPE ").removesuffix(">").partition(" ")
    found = IDENTIFIERS.fullmatch(rest)
    if found is None:
        return f"<!DOCTYPE {name}>"
    first, second = (found[2], found[3] or '""') if found[1] == "PUBLIC" else ('""', found[2])
    return f'<!DOCTYPE {name} "{first[1:-1]}" "{second[1:-1]}">'


def json_suite(kg: Path) -> Iterator[SuiteRow]:
    """Yield the rows of JSONTestSuite; the peers are orjson and the standard library's json."""
    archive = kg / "json/JSONTestSuite_parsing.tar.gz"
    ours, files = accepted_files(archive), dict(iter_suite(archive))
    for kind, letter in (("positive", "y"), ("negative", "n")):
        chosen = [name for name in files if name.startswith(f"{letter}_")]
        wanted = letter == "y"
        alone = sum(_accepts(json.loads, files[name]) == wanted for name in chosen)
        yield SuiteRow(
            suite="JSONTestSuite",
            kind=kind,
            cases=len(chosen),
            ours=sum(ours[name] == wanted for name in chosen),
            peer=sum(_accepts(orjson.loads, files[name]) == wanted for name in chosen),
            peer_name="orjson",
            notes=f"json of the standard library: {alone}",
        )
    free = [name for name in files if name.startswith("i_")]
    accepted = [sum(ours[name] for name in free)]
    accepted += [sum(_accepts(parse, files[name]) for name in free) for parse in (orjson.loads, json.loads)]
    yield SuiteRow(
        suite="JSONTestSuite",
        kind="free",
        cases=len(free),
        ours=len(free),
        notes=f"either is right; accepted by ours {accepted[0]}, orjson {accepted[1]}, json {accepted[2]}",
    )


def tree_sitter(kg: Path) -> Iterator[SuiteRow]:
    """Yield a row a file of tree-sitter's corpus; the peer is the S-expression of tree-sitter's own tree."""
    from lisdata.sources.code_languages import load_grammar

    parser = load_grammar("python").parser
    for path in sorted((kg / "code/ts_corpus").glob("*.txt")):
        cases = [(code, without_statements(tree)) for code, tree in corpus_cases(path)]
        yield SuiteRow(
            suite=f"tree-sitter corpus, {path.stem}",
            kind="eval",
            cases=len(cases),
            ours=sum(without_statements(s_expression(structure_of(code))) == tree for code, tree in cases),
            peer=sum(without_statements(str(parser.parse(code).root_node)) == tree for code, tree in cases),
            peer_name="tree-sitter",
        )
