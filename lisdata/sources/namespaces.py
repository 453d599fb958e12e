"""The option that keeps the keys of tables apart from those of other tables that happen to have the same name."""

from __future__ import annotations

NAMESPACE_HELP = (
    "Namespace of the tables' keys: without one, equal keys of tables of one name are one row, also of other databases."
)


def check_namespace(namespace: str | None) -> None:
    """Raise ValueError for a namespace without a name."""
    if namespace == "":
        raise ValueError(f"expected a name, or no namespace at all, got {namespace=}")
