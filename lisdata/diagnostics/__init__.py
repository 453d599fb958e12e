"""Data of the papers' experiments: seeded generators that write what `lisdata convert` reads."""
