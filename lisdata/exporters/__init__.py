"""Exporters: one file a format, the way back from structures to the source's form."""
