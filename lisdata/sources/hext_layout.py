"""The words of Hextuples that source and exporter share."""

from __future__ import annotations

GLOBAL, LOCAL = "globalId", "localId"
"""Datatypes of values that are IRIs and blank nodes."""
LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
