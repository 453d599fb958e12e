"""Conventions that no linter checks; the layers of imports are contracts in pyproject.toml, checked by lint-imports."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import lisdata

PACKAGE = Path(lisdata.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES, MAX_FUNCTION_LINES = 400, 60
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager", "tools"}
DANGEROUS = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
NETWORK = {"socket", "urllib", "http", "requests", "httpx", "aiohttp"}
FORBIDDEN, FORBIDDEN_CALLS = DANGEROUS | NETWORK, {"eval", "exec", "compile", "__import__"}


def place(path: Path, node: ast.stmt | ast.ExceptHandler | None = None) -> str:
    return path.relative_to(PACKAGE).as_posix() + (f":{node.lineno}" if node else "")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def iter_imports(path: Path) -> Iterator[str]:
    """Yield the names of all modules that a module imports, wherever it does."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            yield node.module or ""


def iter_public(node: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Yield public functions and classes, and the public methods of those classes."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.ClassDef) and not child.name.startswith("_"):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from iter_public(child)


def test_modules_functions_and_classes_say_what_they_do() -> None:
    silent = []
    for path in MODULES:
        tree = tree_of(path)
        said = (ast.get_docstring(tree) or "").rstrip()
        if not said or not (said.endswith((".", ":")) or path.name == "__init__.py"):
            silent.append(place(path))
        silent += [f"{place(path, found)} {found.name}" for found in iter_public(tree) if not ast.get_docstring(found)]

    assert silent == []


def test_modules_and_functions_are_of_a_size_to_be_read() -> None:
    long = []
    for path in MODULES:
        if len(path.read_text(encoding="utf-8").splitlines()) > MAX_LINES:
            long.append(place(path))
        functions = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef)]
        long += [place(path, f) for f in functions if (f.end_lineno or 0) - f.lineno + 1 > MAX_FUNCTION_LINES]

    assert long == []


def test_names_of_modules_say_something() -> None:
    assert [place(path) for path in MODULES if path.stem in EMPTY_NAMES] == []


def test_nothing_is_pickled_evaluated_or_fetched() -> None:
    found = []
    for path in MODULES:
        imported = {name.split(".")[0] for name in iter_imports(path)}
        called = {
            node.func.id
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        found += [f"{place(path)} {name}" for name in sorted(imported & FORBIDDEN | called & FORBIDDEN_CALLS)]

    assert found == []


def test_no_error_is_caught_whatever_it_is() -> None:
    broad = []
    for path in MODULES:
        handlers = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ExceptHandler)]
        broad += [place(path, handler) for handler in handlers if catches_all(handler) and not raises_again(handler)]

    assert broad == []


def catches_all(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(c is None or (isinstance(c, ast.Name) and c.id in ("Exception", "BaseException")) for c in caught)


def raises_again(handler: ast.ExceptHandler) -> bool:
    return any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(handler))


def test_models_know_torch_and_nothing_of_lisdata() -> None:
    known = {"torch", *sys.stdlib_module_names}
    for path in MODULES:
        if path.is_relative_to(PACKAGE / "models"):
            strange = [name for name in iter_imports(path) if name.split(".")[0] not in known]
            assert [name for name in strange if not name.startswith("lisdata.models")] == [], path


def test_nothing_reads_files_that_the_wheel_does_not_hold() -> None:
    for path in MODULES:
        strings = {
            node.value
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not any(text.startswith(("schemas/", "pipelines/", "sample_data/")) for text in strings), path


def test_every_public_name_is_there_and_is_no_module() -> None:
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}

    for name in lisdata.__all__:
        assert getattr(lisdata, name) is not None
        assert name not in modules


def test_what_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'lisdata' has no attribute 'sing'"):
        lisdata.sing  # noqa: B018
