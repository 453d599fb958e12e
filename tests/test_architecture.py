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
each_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())


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


@each_module
def test_modules_functions_and_classes_say_what_they_do(path: Path) -> None:
    tree = tree_of(path)

    assert (ast.get_docstring(tree) or "").rstrip().endswith((".", ":")) or path.name == "__init__.py"
    assert ast.get_docstring(tree)
    silent = [f"{path.name}:{found.lineno} {found.name}" for found in iter_public(tree) if not ast.get_docstring(found)]
    assert silent == []


@each_module
def test_modules_and_functions_are_of_a_size_to_be_read(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES
    functions = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef)]
    long = [f.name for f in functions if (f.end_lineno or 0) - f.lineno + 1 > MAX_FUNCTION_LINES]
    assert long == []


@each_module
def test_names_of_modules_say_something(path: Path) -> None:
    assert path.stem not in EMPTY_NAMES


@each_module
def test_nothing_is_pickled_evaluated_or_fetched(path: Path) -> None:
    imported = {name.split(".")[0] for name in iter_imports(path)}
    called = {
        node.func.id
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert imported.isdisjoint(DANGEROUS | NETWORK)
    assert called.isdisjoint({"eval", "exec", "compile", "__import__"})


@each_module
def test_no_error_is_caught_whatever_it_is(path: Path) -> None:
    for node in ast.walk(tree_of(path)):
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        broad = [c for c in caught if c is None or (isinstance(c, ast.Name) and c.id in ("Exception", "BaseException"))]
        raised = any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
        assert not broad or raised, f"{path}:{node.lineno}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "models").rglob("*.py")), ids=lambda path: path.name)
def test_models_know_torch_and_nothing_of_lisdata(path: Path) -> None:
    for name in iter_imports(path):
        top = name.split(".")[0]
        assert top == "torch" or top in sys.stdlib_module_names or name.startswith("lisdata.models"), name


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
