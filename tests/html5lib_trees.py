"""The html5lib tests of tree construction: which trees the source html reads as they say."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from lisdata.sources.dom import Dom, NodeKind, read_dom

# Where trees may differ: lexbor reads a newer standard (<select>, instructions), and some tests run a script.
KNOWN_DEVIATION = re.compile(r"<select|<\?|<script")
SECTION = re.compile(r"#(data|errors|new-errors|document|document-fragment|script-on|script-off)")
IDENTIFIERS = re.compile(r"""(PUBLIC|SYSTEM) ("[^"]*"|'[^']*')(?: ("[^"]*"|'[^']*'))?""", re.DOTALL)
NAMESPACED = re.compile(r"(xlink|xml|xmlns):(actuate|arcrole|href|role|show|title|type|lang|space|xlink)")


def html5lib_cases(archive: Path) -> list[dict[str, str]]:
    """Return the sections of each case, by name."""
    cases: list[dict[str, list[str]]] = []
    with tarfile.open(archive) as files:
        for member in sorted(files.getmembers(), key=lambda m: m.name):
            stream = files.extractfile(member)
            if stream is None or not member.name.endswith(".dat"):
                continue
            for line in stream.read().decode().split("\n"):
                if line == "#data":
                    cases.append({})
                if SECTION.fullmatch(line):
                    section = cases[-1].setdefault(line[1:], [])
                else:
                    section.append(line)
    return [{name: "\n".join(lines) for name, lines in case.items()} for case in cases]


def outline(dom: Dom) -> str:
    """Return a tree as the html5lib tests write it."""
    lines: list[str] = []
    depths: list[int] = []
    for number, (kind, name, parent) in enumerate(zip(dom.kinds, dom.names, dom.parents, strict=True)):
        depth = 0 if parent < 0 else depths[parent]
        indent = "| " + "  " * depth
        space = dom.foreign.get(number)
        if kind == NodeKind.ELEMENT:
            lines.append(f"{indent}<{space + ' ' if space else ''}{name}>")
            named = [(NAMESPACED.sub(r"\1 \2", n) if space else n, v) for n, v in dom.attributes.get(number, ())]
            lines += sorted(f'{indent}  {n}="{v}"' for n, v in named)
            if name == "template" and not space:
                lines.append(f"{indent}  content")
                depth += 1
        else:
            lines.append(indent + spelled(kind, name))
        depths.append(depth + 1)
    return "\n".join(lines)


def spelled(kind: int, name: str) -> str:
    """Return a node that is no element as the html5lib tests write it."""
    if kind == NodeKind.TEXT:
        return f'"{name}"'
    if kind == NodeKind.INSTRUCTION:
        return f"<?{name}?>"
    if kind == NodeKind.COMMENT:
        return f"<!-- {name} -->"
    name, _, rest = name.partition(" ")
    found = IDENTIFIERS.fullmatch(rest)
    if found is None:
        return f"<!DOCTYPE {name}>"
    first, second = (found[2], found[3] or '""') if found[1] == "PUBLIC" else ('""', found[2])
    return f'<!DOCTYPE {name} "{first[1:-1]}" "{second[1:-1]}">'


def parse_case(case: dict[str, str]) -> Dom:
    """Return the tree of a case's document or fragment."""
    context = case.get("document-fragment", "").split()
    options: dict[str, Any] = {"is_fragment": True, "fragment_tag": context[-1]} if context else {}
    return read_dom(LexborHTMLParser(case["data"], scripting="script-on" in case, **options))


def read_cases(archive: Path) -> list[tuple[dict[str, str], bool]]:
    """Return the cases that documents can show, each with whether its tree is the expected one.

    Left out are fragments of SVG or MathML, which no document is.
    """
    cases = [c for c in html5lib_cases(archive) if " " not in c.get("document-fragment", "")]
    return [(case, outline(parse_case(case)) == case["document"].rstrip("\n")) for case in cases]


def is_known_deviation(case: dict[str, str]) -> bool:
    """Tell whether a case is about what lexbor does otherwise."""
    return case.get("document-fragment") == "select" or KNOWN_DEVIATION.search(case["data"]) is not None


def count_trees(archive: Path) -> dict[str, int]:
    """Count the cases, as in "document equal" and "fragment different"."""
    kinds = (("fragment" if "document-fragment" in case else "document", equal) for case, equal in read_cases(archive))
    return dict(Counter(f"{kind} {'equal' if equal else 'different'}" for kind, equal in kinds))
