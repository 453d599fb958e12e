"""Programming languages: which one a file is in, and what tree-sitter's grammar of it calls its nodes and fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lisdata.contents import Role
from lisdata.decompression import without_compression

if TYPE_CHECKING:
    from tree_sitter import Parser

Language = Literal["c", "java", "javascript", "json", "python", "rust"]

SUFFIXES: dict[str, Language] = {
    ".py": "python",
    ".pyi": "python",
    ".c": "c",
    ".h": "c",
    ".java": "java",
    ".cjs": "javascript",
    ".js": "javascript",
    ".jsx": "javascript",
    ".mjs": "javascript",
    ".json": "json",
    ".rs": "rust",
}
_ERROR = 0xFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A parser, and by number the names of kinds of nodes, whether they are named ones, and the names of fields.

    The last kind is ERROR. `sides` is what the role of a token of each kind says of it: token:KIND, or unnamed:KIND
    with "%" and "#" escaped, which the side of a role can't hold. Field 0 is no field. `roles` are those found so far.
    """

    language: Language
    parser: Parser
    kinds: pa.LargeBinaryArray
    is_named: npt.NDArray[np.bool_]
    sides: tuple[str, ...]
    fields: tuple[str, ...]
    roles: dict[int, Role | None] = field(default_factory=dict)

    def role(self, number: int) -> Role | None:
        """Return the role of a child: `number` is its field and, for a token of a kind, one more than that kind.

        They are joined as kind * len(fields) + field; a child that is neither has a plain role, None.
        """
        if number not in self.roles:
            kind, in_field = divmod(number, len(self.fields))
            parts = [f"field:{self.fields[in_field]}"] if in_field else []
            if kind:
                parts.append(self.sides[kind - 1])
            self.roles[number] = Role("child", "+".join(parts)) if parts else None
        return self.roles[number]

    def kind_numbers(self, ids: npt.NDArray[np.uint16]) -> npt.NDArray[np.int64]:
        """Return the numbers in `kinds` of what tree-sitter numbers `ids`."""
        return np.where(ids == _ERROR, len(self.kinds) - 1, ids)


def language_of(name: str) -> Language | None:
    """Return the language that the suffix of a file's name stands for, if it stands for one."""
    name = without_compression(name.lower())
    return next((language for suffix, language in SUFFIXES.items() if name.endswith(suffix)), None)


@cache
def load_grammar(language: Language) -> Grammar:
    """Return the grammar of a language."""
    from tree_sitter import Language as TreeSitterLanguage
    from tree_sitter import Parser

    found = TreeSitterLanguage(import_module(f"tree_sitter_{language}").language())
    numbers = range(found.node_kind_count)
    names = [*(found.node_kind_for_id(number) or "" for number in numbers), "ERROR"]
    is_named = [*map(found.node_kind_is_named, numbers), True]
    return Grammar(
        language=language,
        parser=Parser(found),
        kinds=pa.array(names, pa.large_string()).cast(pa.large_binary()),
        is_named=np.array(is_named),
        sides=tuple(map(_side, names, is_named)),
        fields=tuple(found.field_name_for_id(number) or "" for number in range(found.field_count + 1)),
    )


def _side(kind: str, is_named: bool) -> str:
    return f"token:{kind}" if is_named else "unnamed:" + kind.replace("%", "%25").replace("#", "%23")
