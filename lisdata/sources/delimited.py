"""CSV and TSV (RFC 4180): rows of exact cells, NULL apart from the empty string, keys by option or schema file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from lisdata.errors import SchemaError
from lisdata.inputs import InputFile, InputSlice
from lisdata.records import ForeignKey, RowRecords
from lisdata.registry import Reject
from lisdata.sources.delimited_layout import Layout, check_layout_bytes
from lisdata.sources.namespaces import NAMESPACE_HELP, check_namespace
from lisdata.sources.table_schema import DeclaredTable, load_declared_table

_SUFFIXES = (".csv", ".tsv")


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvOptions:
    """Options of source csv; a schema file overrides those that it speaks about."""

    delimiter: str | None = field(
        default=None, metadata={"help": "Byte between cells (\\t is a tab); by default a comma, a tab for .tsv."}
    )
    quote: str | None = field(default='"', metadata={"help": "Byte around cells, doubled inside; empty for none."})
    encoding: str = field(default="utf-8", metadata={"help": "utf-8, or a one-byte encoding that extends ASCII."})
    header: bool = field(default=True, metadata={"help": "The first row names the columns."})
    null_tokens: tuple[str, ...] = field(default=("",), metadata={"help": "Unquoted cells that are NULL."})
    table: str | None = field(default=None, metadata={"help": "Name of the table; the file's name by default."})
    primary_key: tuple[str, ...] = field(default=(), metadata={"help": "Columns of the primary key."})
    foreign_key: tuple[str, ...] = field(
        default=(), metadata={"help": "Foreign keys: column=Table.column, a+b=Table.x+y for composite ones."}
    )
    namespace: str | None = field(default=None, metadata={"help": NAMESPACE_HELP})
    schema: str | None = field(
        default=None,
        metadata={
            "is_path": True,
            "help": "A Table Schema or Data Package (JSON): types, keys, missing values, dialect.",
        },
    )

    def __post_init__(self) -> None:
        for declared in self.foreign_key:
            parse_foreign_key(declared)
        check_namespace(self.namespace)
        check_layout_bytes(self.delimiter or ",", self.quote, self.encoding)


@dataclass(frozen=True, slots=True)
class CsvSource:
    """Reads delimited files in blocks of whole rows; a file is never cut, since quotes hide where rows begin."""

    name: str = "csv"
    summary: str = "CSV and TSV tables: exact cells, NULLs, primary and foreign keys"
    suffixes: tuple[str, ...] = _SUFFIXES
    converter: str = "tables"
    exporter: str = "csv"
    splits: bool = False
    options_type: type[CsvOptions] = CsvOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: CsvOptions) -> int:
        """Raise ValueError: whether a newline ends a row is not known from the bytes near it."""
        raise ValueError(f"a delimited file is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: CsvOptions, reject: Reject) -> Iterator[RowRecords]:
        """Yield the rows of `piece`, about 8 MiB at a time.

        A row with too few or many cells, a stray or open quote, bytes that are not in the encoding, a cell that is not
        of its declared type, or NULL where a value is required is a bad record; so is a whole file with a bad header.
        """
        from lisdata.sources.delimited_rows import read_rows

        yield from read_rows(piece, layout_of(options, piece.file), reject)


def layout_of(options: CsvOptions, file: InputFile) -> Layout:
    """Return how `file` is written and what its columns are, from the options and the schema file.

    Raises SchemaError for a schema file that is none, or whose dialect or encoding cannot be.
    """
    declared = None
    if options.schema is not None:
        declared = load_declared_table(options.schema, _plain_name(file), options.table)
    table = options.table or (declared.name if declared else None) or PurePosixPath(_plain_name(file)).stem
    keys = declared.foreign_keys if declared else ()
    keys += tuple(parse_foreign_key(text) for text in options.foreign_key)
    dialect = declared.dialect if declared else {}
    delimiter = dialect.get("delimiter", options.delimiter or _usual_delimiter(file))
    quote = dialect.get("quoteChar", options.quote)
    encoding = (declared.encoding if declared else None) or options.encoding
    if declared is not None:
        try:
            check_layout_bytes(delimiter, quote, encoding)
        except ValueError as error:
            raise SchemaError(f"{options.schema}: {error}") from error
    return Layout(
        delimiter=delimiter,
        quote=quote,
        encoding=encoding,
        header=dialect.get("header", options.header),
        null_tokens=_null_tokens(options, declared),
        table=table,
        fields=declared.fields if declared else None,
        primary_key=options.primary_key or (declared.primary_key if declared else ()),
        foreign_keys=tuple(
            ForeignKey(columns=key.columns, table=key.table or table, references=key.references) for key in keys
        ),
        namespace=options.namespace,
    )


def _null_tokens(options: CsvOptions, declared: DeclaredTable | None) -> tuple[str, ...]:
    if declared is None or declared.null_tokens is None:
        return options.null_tokens
    return declared.null_tokens


def _usual_delimiter(file: InputFile) -> str:
    return "\t" if _plain_name(file).lower().endswith(".tsv") else ","


def _plain_name(file: InputFile) -> str:
    """Return the file's name without the suffix of its compression."""
    if file.compression is None or file.name.lower().endswith(_SUFFIXES):
        return file.name
    return str(PurePosixPath(file.name).with_suffix(""))


def parse_foreign_key(text: str) -> ForeignKey:
    """Return the key that "column=Table.column" or "a+b=Table.x+y" declares; ValueError for another form."""
    columns, _, target = text.partition("=")
    table, _, references = target.partition(".")
    key = ForeignKey(columns=tuple(columns.split("+")), table=table, references=tuple(references.split("+")))
    if not table or not all((*key.columns, *key.references)) or len(key.columns) != len(key.references):
        raise ValueError(f"expected a foreign key as column=Table.column or a+b=Table.x+y, got {text!r}")
    return key


CSV = CsvSource()
