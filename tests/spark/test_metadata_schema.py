"""The columns of kraft-metadata are those of the message specs, and no release may take one away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from kraft.codegen.names import snake_case
from kraft.messages import registry
from kraft.spark.metadata_schema import COLUMNS, COMMON, DOCS, SCHEMA, struct_type

SPECS = Path(registry.__file__).parent / "spec"
PINNED = Path(__file__).parent / "metadata_columns.txt"
"""One line for each column and each field of a struct. Lines are only ever added."""
SPARK_TYPES = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "uint16": pa.int32(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "uuid": pa.string(),
    "string": pa.string(),
    "bytes": pa.binary(),
}


def spec(name: str) -> dict[str, Any]:
    text = (SPECS / f"{name}.json").read_text()
    found: dict[str, Any] = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    return found


def type_of(field: dict[str, Any], common: dict[str, Any]) -> pa.DataType:
    """The type of a field, from Kafka's name of its type."""
    kind = field["type"].removeprefix("[]")
    fields = field.get("fields") or common.get(kind)
    item = (
        SPARK_TYPES[kind]
        if fields is None
        else pa.struct([(snake_case(each["name"]), type_of(each, common)) for each in fields])
    )
    return pa.list_(item) if field["type"].startswith("[]") else item


@pytest.mark.parametrize("column", COLUMNS)
def test_a_struct_has_the_fields_of_the_spec(column: str) -> None:
    """Tagged fields and those of later versions included."""
    found = spec(COLUMNS[column].__name__)
    common = {each["name"]: each["fields"] for each in found.get("commonStructs", [])}
    expected = [(snake_case(each["name"]), type_of(each, common)) for each in found["fields"]]
    assert [(each.name, each.type) for each in struct_type(COLUMNS[column])] == expected


def test_every_record_type_with_fields_has_a_column() -> None:
    """KIP-631: the types of metadata records; a Parquet file cannot hold a struct without fields."""
    records = [spec(path.stem) for path in SPECS.glob("*Record.json")]
    named = {
        re.sub(r"(?<!^)(?=[A-Z])", "_", each["name"]).lower()
        for each in records
        if each["type"] == "metadata" and each["fields"]
    }
    assert named == {name for name, cls in COLUMNS.items() if cls.API_KEY >= 0}


def lines(fields: Any, prefix: str = "") -> Iterator[str]:
    for field in fields:
        yield f"{prefix}{field.name} {field.type if not pa.types.is_nested(field.type) else type(field.type).__name__}"
        inner = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(inner):
            yield from lines(inner, f"{prefix}{field.name}.")
        elif inner is not field.type:
            yield f"{prefix}{field.name}[] {inner}"


def test_the_schema_only_grows() -> None:
    """A table that was written by an older release is still read: its columns keep names and types."""
    pinned = PINNED.read_text().splitlines()
    present = list(lines(SCHEMA))
    assert set(pinned) <= set(present), "these columns are gone or changed"
    assert set(present) <= set(pinned), f"add the new columns to {PINNED.name}"


def test_every_column_is_nullable() -> None:
    """An older table lacks the newer columns, and Spark reads these as null."""

    def nullable(fields: Any) -> bool:
        return all(each.nullable and (not pa.types.is_struct(each.type) or nullable(each.type)) for each in fields)

    assert nullable(SCHEMA)
    assert all(field.nullable for field in from_arrow_schema(SCHEMA))


def test_every_common_column_is_documented() -> None:
    assert list(DOCS) == COMMON.names
