"""Token datasets in the formats of other loaders, and theirs as token datasets."""

from lisdata.token_formats.exporting import export_tokens
from lisdata.token_formats.formats import EXPORTED, IMPORTED
from lisdata.token_formats.importing import import_tokens

__all__ = ["EXPORTED", "IMPORTED", "export_tokens", "import_tokens"]
