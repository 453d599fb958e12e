"""Converters: one file a kind of data, from records to structures."""
