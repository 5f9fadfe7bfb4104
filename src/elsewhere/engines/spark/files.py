"""Find and read the files of a table with Spark, on any file system that it supports, also through Spark Connect."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import DataType, NumericType, StringType, StructField, StructType

from elsewhere.engines.listing import (
    PRIVATE,
    SUCCESS,
    check_one_schema,
    earlier_release,
    one_kind,
    table_files,
    unfinished,
)
from elsewhere.engines.spark.delimited import PROBLEM, Layout, parsed
from elsewhere.engines.spark.paths import base_of, below, escaped, fixed_part, is_folder, is_pattern, partition_values
from elsewhere.histories.columns import SAMPLE, numeric_columns
from elsewhere.histories.delimited import guess_delimiter
from elsewhere.model.errors import InputError
from elsewhere.text import quote

#: Footers that are read at the same time.
_THREADS = 16
# A missing or broken file is an error, whatever the settings of the session.
_STRICT = {"recursiveFileLookup": "true", "ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}


@dataclass(frozen=True)
class Table:
    """A table of which some columns will be read."""

    columns: Sequence[str]
    types: Mapping[str, DataType]
    #: The columns with numbers.
    numeric: Sequence[str]
    #: Returns the named columns, and `PROBLEM`: the error in the file of a row.
    read: Callable[[Sequence[str]], DataFrame]
    #: The files with their sizes, or how many there are.
    lineage: list[dict[str, Any]] | int = 0
    #: The folder of the table, if it is one.
    folder: str | None = None


def frame_table(frame: DataFrame) -> Table:
    """A DataFrame as a table."""
    types = {field.name: field.dataType for field in frame.schema.fields}
    return Table(frame.columns, types, _numeric(types), partial(_selected, frame), len(frame.inputFiles()))


def file_table(spark: SparkSession, path: str, *, released: bool = False) -> Table:
    """The files at a path as a table: a file, a folder of any depth, or a pattern.

    The output of a batch is accepted only with `released`.
    """
    folder, files = _files_at(spark, path, released)
    lineage = [{"file": file, "bytes": size} for file, size in files.items()]
    names = [*files]
    kind = one_kind(path, names)
    check_one_schema((file, [*partition_values(folder, file)]) for file in names)
    make = _parquet_table if kind == "parquet" else partial(_text_table, kind)
    return replace(make(spark, folder, names), lineage=lineage, folder=folder if is_folder(path, folder) else None)


def exists(spark: SparkSession, pattern: str) -> bool:
    """Whether there is anything at a path or a pattern."""
    try:
        return spark.read.format("binaryFile").load(pattern).schema is not None
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return False
        raise


def column(name: str) -> Column:
    """The column with exactly this name."""
    return sql.col("`" + name.replace("`", "``") + "`")


def _files_at(spark: SparkSession, path: str, released: bool) -> tuple[str, dict[str, int]]:
    """The files of the table at a path with their sizes, and the folder below which folder names are columns."""
    start = path.rstrip("/")
    listed = _listed(spark, escaped(path))
    if listed is None and is_pattern(path):
        start, listed = fixed_part(path), _listed(spark, path)
    if not listed:
        raise InputError(f"there is no file at {quote(path)}")
    folder = base_of(start, [*listed])
    files = {below(folder, file): file for file in listed}
    found = table_files(path, [*files, *_delta_logs(spark, folder, [*files])])
    if not released and exists(spark, f"{escaped(folder)}{PRIVATE}/{{outcomes,journal}}*"):
        raise earlier_release(path)
    if released and is_folder(path, folder) and not exists(spark, f"{escaped(folder)}/{SUCCESS}"):
        raise unfinished(path)
    return folder, {files[name]: listed[files[name]] for name in found}


def _listed(spark: SparkSession, pattern: str) -> dict[str, int] | None:
    """The files at a path or a pattern, at any depth, with their sizes; None if there is nothing."""
    if not exists(spark, pattern):
        return None
    # Without the column of contents, Spark only lists the files.
    found = spark.read.format("binaryFile").options(**_STRICT).load(pattern).select("path", "length")
    return {row["path"]: row["length"] for row in found.collect()}


def _delta_logs(spark: SparkSession, folder: str, files: Sequence[str]) -> Iterator[str]:
    """The logs of Delta tables, which Spark does not list with the files of a folder."""
    plain = [[part for part in file.split("/")[:-1] if "=" not in part] for file in files]
    for depth in range(1 + max(map(len, plain))):
        pattern = f"{escaped(folder)}{'/*' * depth}/_delta_log"
        if exists(spark, pattern):
            log = spark.read.format("binaryFile").load(pattern).select("path").first()
            yield "_delta_log/" if log is None else below(folder, log[0])


def _parquet_table(spark: SparkSession, folder: str, files: list[str]) -> Table:
    with ThreadPoolExecutor(_THREADS) as pool:
        schemas = list(pool.map(lambda file: spark.read.options(**_STRICT).parquet(escaped(file)).schema, files))
    check_one_schema((file, schema.names) for file, schema in zip(files, schemas, strict=True))
    typed = ([f"{field.name} {field.dataType.simpleString()}" for field in schema.fields] for schema in schemas)
    check_one_schema(zip(files, typed, strict=True))
    frame = spark.read.options(**_STRICT).schema(schemas[0]).parquet(*map(escaped, files))
    of_folders = [*partition_values(folder, files[0])]
    _check_apart(schemas[0].names, of_folders)
    frame = frame.select("*", *(_partition_value(folder, name).alias(name) for name in of_folders))
    types = {field.name: field.dataType for field in frame.schema.fields}
    columns = [*schemas[0].names, *of_folders]
    return Table(columns, types, _numeric(types), partial(_selected, frame))


def _partition_value(folder: str, name: str) -> Column:
    """The values that the folder names give for a row, as `partition_values` reads them."""
    file = sql.url_decode(sql.replace("_metadata.file_path", sql.lit("+"), sql.lit("%2B")))
    value = sql.regexp_extract(sql.substring(file, len(folder) + 1, 2**31 - 1), rf"/\Q{name}\E=([^/]*)/", 1)
    decoded = sql.try_url_decode(sql.replace(value, sql.lit("+"), sql.lit("%2B")))
    return sql.nullif(sql.coalesce(decoded, value), sql.lit("__HIVE_DEFAULT_PARTITION__"))


def _text_table(kind: str, spark: SparkSession, folder: str, files: list[str]) -> Table:
    head = _head(spark, files[0])
    delimiter = "\t" if kind == "tsv" else guess_delimiter(head)
    rows = _first_rows(head, delimiter)
    header = next(rows, None)
    if header is None:
        raise InputError(f"{quote(files[0])} has no header line with the names of its columns")
    of_folders = [*partition_values(folder, files[0])]
    _check_apart(header, of_folders)
    columns = [*header, *of_folders]
    layout = Layout(folder, files[0], tuple(header), delimiter, ())
    types = dict.fromkeys(columns, StringType())
    read = partial(_read_text, spark, [*map(escaped, files)], layout)
    return Table(columns, types, numeric_columns(header, rows), read)


def _read_text(spark: SparkSession, files: list[str], layout: Layout, wanted: Sequence[str]) -> DataFrame:
    lines = spark.read.options(**_STRICT, lineSep="\n").text(files)
    end = sql.col("_metadata.file_block_start") + sql.col("_metadata.file_block_length")
    cut = (end < sql.col("_metadata.file_size")).cast("string")
    block = sql.concat_ws(" ", "_metadata.file_block_start", cut, "_metadata.file_path")
    layout = replace(layout, wanted=tuple(wanted))
    schema = StructType([StructField(name, StringType()) for name in (*wanted, PROBLEM)])
    given = lines.select(block.alias("block"), sql.col("value").cast("binary"))
    return given.mapInArrow(partial(parsed, layout), schema)


def _head(spark: SparkSession, file: str) -> str:
    """The first lines of a file."""
    lines = spark.read.options(**_STRICT, lineSep="\n").text(escaped(file)).select(sql.col("value").cast("binary"))
    try:
        return "".join(f"{bytes(line[0]).decode('utf-8-sig')}\n" for line in lines.limit(2 * SAMPLE).collect())
    except UnicodeDecodeError:
        raise InputError(f"{quote(file)} is not UTF-8; save it as UTF-8") from None


def _first_rows(head: str, delimiter: str) -> Iterator[list[str]]:
    """The first rows that are complete and not blank."""
    rows = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from islice((row for row in rows if any(map(str.strip, row))), SAMPLE + 1)
    except csv.Error:
        return  # the row is truncated, or its error will be found again later


def _check_apart(columns: Sequence[str], of_folders: Sequence[str]) -> None:
    for name in of_folders:
        if name in columns:
            raise InputError(f"the column {quote(name)} is both in the files and in the names of their folders")


def _selected(frame: DataFrame, wanted: Sequence[str]) -> DataFrame:
    return frame.select(*map(column, wanted), sql.lit(None).cast("string").alias(PROBLEM))


def _numeric(types: Mapping[str, DataType]) -> list[str]:
    return [name for name, type_ in types.items() if isinstance(type_, NumericType)]
