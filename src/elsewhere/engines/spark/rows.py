"""Turn rows of a table into users, locations and counts, in columns of unambiguous types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    FractionalType,
    IntegralType,
    NumericType,
    StringType,
)

from elsewhere.engines.columns import about_personal, about_since
from elsewhere.engines.outcome import check_keys
from elsewhere.engines.plans import check_choices
from elsewhere.engines.spark.checks import BAD, ROWS
from elsewhere.engines.spark.delimited import PROBLEM
from elsewhere.engines.spark.files import Table, column
from elsewhere.engines.users import EARLIER
from elsewhere.histories.columns import Columns, called, called_if_any, find_columns, find_user
from elsewhere.model.errors import InputError
from elsewhere.text import name_list, plural, quote

_SCALARS = (StringType, BinaryType, NumericType, DateType, BooleanType)
_LARGEST = 2**63 - 1
#: The pattern of numbers in text; Spark would also accept 3d and 0x1p3.
_NUMBER = r"^[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*$"


@dataclass(frozen=True)
class Roles:
    """The roles of the columns of a table."""

    columns: Columns
    #: The user, and further keys.
    keys: tuple[str, ...]

    @property
    def wanted(self) -> list[str]:
        """The columns to read."""
        return [*self.keys, self.columns.location, *([] if self.columns.count is None else [self.columns.count])]


def find_roles(
    table: Table,
    *,
    user: str | None,
    location: str | None,
    count: str | None,
    rows_are_visits: bool = False,
    keys: Sequence[str] = (),
) -> Roles:
    """The columns that matter, each with a checked type."""
    if rows_are_visits and count is not None:
        raise InputError(f"rows_are_visits and count {quote(count)} exclude each other", ("rows_are_visits", "count"))
    found = find_columns(table.columns, user=user, location=location, count=count)
    if rows_are_visits:
        found = replace(found, count=None, count_given=True)
    whose = (found.required_user(), *(called(table.columns, key) for key in keys))
    for name in whose[1:]:
        if name in (found.location, found.count):
            raise InputError(f"the key {quote(name)} is the column of the locations or of the counts", ("keys",))
    check_keys(whose)
    check_keys([name.lower() for name in whose])  # Spark ignores case in column names
    roles = Roles(found, whose)
    for name in roles.wanted:
        _check_scalar(name, table.types[name])
    if found.count is not None:
        _check_number(found.count, table.types[found.count])
    return roles


def rows_of(table: Table, roles: Roles) -> DataFrame:
    """Keys, location and count (null if invalid), and the error in the file."""
    counted = roles.columns.count
    return table.read(roles.wanted).select(
        *(_key(name, table.types[name]).alias(name) for name in roles.keys),
        _text(roles.columns.location, table.types[roles.columns.location]).alias("location"),
        (sql.lit(1).cast("bigint") if counted is None else _whole(counted, table.types[counted])).alias("count"),
        PROBLEM,
    )


def spread(rows: DataFrame, user: str, partitions: int | None) -> DataFrame:
    """The rows with those of a user in one partition. The number of partitions is given, or Spark's choice."""
    return rows.repartition(column(user)) if partitions is None else rows.repartition(partitions, column(user))


def added_up(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """One row per user and location."""
    missing = sql.isnull("location") | sql.isnull("count")
    for name in keys:
        missing = missing | sql.isnull(column(name))
    apart = [EARLIER] if EARLIER in rows.columns else []
    return rows.groupBy(*map(column, keys), "location", *apart).agg(
        # If a sum overflows, the user is refused for the size anyway.
        sql.coalesce(sql.try_sum("count"), sql.lit(_LARGEST)).alias("count"),
        sql.count("*").alias(ROWS),
        sql.count_if(missing).alias(BAD),
        sql.min(PROBLEM).alias(PROBLEM),
    )


def continuing(rows: DataFrame, roles: Roles, since: Table) -> DataFrame:
    """The rows and those of earlier releases, marked by `EARLIER`, without keys that cannot be in the input."""
    with about_since():
        own = _roles_since(since, roles)
        found = rows_of(since, own)
        pairs = [*zip(own.keys, roles.keys, strict=True)]
        keys = [_alike(column(name), since.types[name], rows.schema[key].dataType).alias(key) for name, key in pairs]
        told = sql.lit("since: a release has a row without a location or a whole count from 0 up")
        wrong = sql.when(sql.isnull("location") | sql.isnull("count"), told)
        found = found.select(*keys, "location", "count", sql.coalesce(PROBLEM, wrong).alias(PROBLEM))
        for key in roles.keys:
            found = found.filter(sql.isnotnull(column(key)) | sql.isnotnull(PROBLEM))
        return rows.withColumn(EARLIER, sql.lit(False)).unionByName(found.withColumn(EARLIER, sql.lit(True)))


def missing_continued(rows: DataFrame, roles: Roles, since: Table) -> list[str]:
    """A note about users with an earlier release who are not in the input; raise if that is true of all."""
    with about_since():
        own, whose = _roles_since(since, roles), roles.keys[0]
        user = own.keys[0]
        alike = _alike(column(user), since.types[user], rows.schema[whose].dataType)
        users = rows_of(since, own).select(column(user).alias("given"), alike.alias("user")).distinct()
        known = rows.select(column(whose).alias("user")).distinct()
        missing = users.join(known, "user", "left_anti").count()
        if missing and missing == users.count():
            raise InputError("none of its users is in the input; write users the same way in both")
    if not missing:
        return []
    return [f"{plural(missing, 'user')} with an earlier release {'is' if missing == 1 else 'are'} not in the input."]


def _roles_since(since: Table, roles: Roles) -> Roles:
    """The columns of earlier releases, whose keys have the same names as those of the input."""
    names, whose = since.columns, roles.keys[0]
    user = whose if called_if_any(names, whose) is not None else None
    location = called_if_any(names, "location")
    found = find_roles(since, user=user, location=location, count=None, keys=roles.keys[1:])
    if found.columns.count is None:
        raise InputError(f"earlier releases need counts, but none of the columns {name_list(names)} is known as counts")
    return found


def _alike(known: Column, given: DataType, wanted: DataType) -> Column:
    """Keys converted to another type; null if that type cannot hold them."""
    if not isinstance(wanted, IntegralType):
        return known.cast("string")
    as_given = "double" if isinstance(given, FractionalType) else "string"
    number = known.try_cast("double").try_cast(wanted) if as_given == "double" else known.try_cast(wanted)
    # Spark would truncate 1.4 to 1, which is another user.
    return sql.when(number.cast(as_given) == known.cast(as_given), number)


def choices_of(personal: Table, user: str | None, whose: str, type_: DataType) -> DataFrame:
    """Users' own choices, one row per user. The column of users has the name `whose` and the type of the input."""
    with about_personal():
        key = find_user(personal.columns, user)
        own = check_choices(personal.columns, besides=(key,))
        _check_scalar(key, personal.types[key])
        known = _alike(_key(key, personal.types[key]), personal.types[key], type_)
        choices = (_choice(name, personal.types[name]).alias(name) for name in own)
        found = personal.read([key, *own]).select(known.alias(whose), *choices, PROBLEM)
        _check_users(found, whose, key)
        return found.drop(PROBLEM)


def _check_users(choices: DataFrame, whose: str, key: str) -> None:
    """Raise if a row has no user, or a user has several rows, because lost choices would protect nobody."""
    of_user = choices.groupBy(column(whose).alias("user"))
    users = of_user.agg(sql.count("*").alias("rows"), sql.min(PROBLEM).alias("problem"))
    wrong = users.filter("user IS NULL OR rows > 1 OR problem IS NOT NULL")
    for first in wrong.orderBy(sql.asc_nulls_last("problem"), sql.asc_nulls_first("user")).limit(1).collect():
        if first["problem"] is not None:
            raise InputError(first["problem"])
        if first["user"] is None:
            raise InputError(f"a row has no {quote(key)}, or one of another type than the users of the input")
        raise InputError(f"the user {quote(first['user'])} has more than one row of personal choices")


def _check_scalar(name: str, type_: DataType) -> None:
    if not isinstance(type_, _SCALARS):
        raise InputError(
            f"the column {quote(name)} is of type {type_.simpleString()}; give text, a number, a date or a boolean"
        )


def _check_number(name: str, type_: DataType) -> None:
    if isinstance(type_, BooleanType | DateType):
        raise InputError(f"the column {quote(name)} is of type {type_.simpleString()}; counts are whole numbers")


def _choice(name: str, type_: DataType) -> Column:
    """Choices in the kernel's form: texts, lists of texts, and numbers."""
    is_list = isinstance(type_, ArrayType) and isinstance(type_.elementType, StringType)
    if not is_list and not isinstance(type_, StringType | BinaryType | NumericType):
        raise InputError(f"the column {quote(name)} is of type {type_.simpleString()}; give text or numbers")
    if isinstance(type_, StringType | BinaryType):
        return sql.validate_utf8(column(name).cast("string"))
    return column(name).cast("double") if isinstance(type_, FractionalType) else column(name)


def _key(name: str, type_: DataType) -> Column:
    return column(name) if isinstance(type_, IntegralType) else _text(name, type_)


def _text(name: str, type_: DataType) -> Column:
    """The value as text, byte for byte; null if it is empty or not UTF-8."""
    text = sql.collate(column(name), "UTF8_BINARY") if isinstance(type_, StringType) else column(name).cast("string")
    return sql.nullif(sql.try_validate_utf8(text), sql.lit(""))


def _whole(name: str, type_: DataType) -> Column:
    """The counts that are nonnegative integers; a column of text is parsed."""
    if isinstance(type_, NumericType):
        value = column(name)
    else:
        text = _text(name, type_)
        value = sql.when(text.rlike(_NUMBER), text)
    number = value.try_cast("double")
    whole = sql.coalesce(value.try_cast("bigint"), number.try_cast("bigint"))
    return sql.when((whole >= 0) & (whole.cast("double") == number), whole)


def check_partitions(partition_by: Sequence[str], keys: Sequence[str]) -> None:
    """Raise if the output would be partitioned by anything but a further key."""
    for name in partition_by:
        if name not in keys[1:]:
            known = f"the keys are {name_list(keys[1:])}" if keys[1:] else "add it to keys"
            raise InputError(f"partition_by is {quote(name)}, which is not one of keys; {known}", ("partition_by",))
