"""Sources: one file a format, knowing nothing of structures."""
