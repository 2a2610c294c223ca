"""Specs that break a rule are refused with one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kraft.codegen.spec import SpecError, load_all, load_spec, parse_versions


def _spec(**changes: Any) -> dict[str, Any]:
    spec = {
        "apiKey": 3,
        "type": "request",
        "listeners": ["broker"],
        "name": "ARequest",
        "validVersions": "0-3",
        "flexibleVersions": "2+",
        "fields": [_field()],
    }
    spec.update(changes)
    return {key: value for key, value in spec.items() if value is not None}


def _field(**changes: Any) -> dict[str, Any]:
    return {"name": "A", "type": "int32", "versions": "0+", "about": "A number.", **changes}


def _write(directory: Path, spec: dict[str, Any], name: str = "ARequest", head: str = "") -> Path:
    path = directory / f"{name}.json"
    path.write_text(head + json.dumps(spec))
    return path


def test_a_spec_is_read(tmp_path: Path) -> None:
    inner = _field(name="B", type="[]Inner", nullableVersions="1+", default="null", fields=[_field(name="C")])
    tagged = _field(name="T", taggedVersions="2+", tag=0)
    path = _write(tmp_path, _spec(fields=[inner, tagged]), head="// v1 is new.\n// v2 has tags.\n")
    spec = load_spec(path)
    assert spec.notes == "v1 is new. v2 has tags."
    assert (spec.api_key, spec.valid, spec.flexible, spec.listeners) == (3, (0, 3), (2, 0x7FFF), ("broker",))
    assert [struct.name for struct in spec.structs] == ["Inner", "ARequest"]
    array, tagged_field = spec.structs[-1].fields
    assert array.is_array
    assert array.is_struct
    assert (array.nullable, array.default) == ((1, 0x7FFF), "null")
    assert (tagged_field.tag, tagged_field.tagged) == (0, (2, 0x7FFF))


def test_common_structures_are_read_once(tmp_path: Path) -> None:
    common = [{"name": "Inner", "versions": "0+", "fields": [_field()]}]
    fields = [_field(name="B", type="Inner"), _field(name="C", type="[]Inner")]
    spec = load_spec(_write(tmp_path, _spec(commonStructs=common, fields=fields)))
    assert [struct.name for struct in spec.structs] == ["Inner", "ARequest"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"colour": 1}, "unknown key 'colour'"),
        ({"fields": None}, "key 'fields' is missing"),
        ({"type": "call"}, "type is 'call'; allowed: data, header"),
        ({"listeners": ["client"]}, "listeners is 'client'; allowed: broker"),
        ({"apiKey": None}, "needs an apiKey"),
        ({"type": "data"}, "a data message has no apiKey"),
        ({"validVersions": "0+"}, "validVersions must be"),
        ({"validVersions": "3-1"}, "the last is below the first"),
        ({"validVersions": "x"}, "want N, N-M, N"),
        ({"flexibleVersions": "2-3"}, "flexibleVersions must be"),
        ({"name": "BRequest"}, "is not the file's"),
        ({"commonStructs": [{"name": "S", "versions": "0+", "fields": [_field()]}]}, "S is never used"),
        ({"fields": [_field(), _field()]}, "two fields called A"),
    ],
)
def test_the_fault_of_a_message_is_named(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError, match=problem) as caught:
        load_spec(_write(tmp_path, _spec(**changes)))
    assert str(caught.value).startswith("ARequest.json: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"colour": 1}, "unknown key 'colour'"),
        ({"name": "a b"}, "not a name"),
        ({"versions": "none"}, "versions must not be none"),
        ({"versions": "1-"}, "want N, N-M"),
        ({"tag": 0}, "tag and taggedVersions go together"),
        ({"tag": 0, "taggedVersions": "1+"}, "outside flexibleVersions"),
        ({"tag": 1, "taggedVersions": "2+"}, "without gaps or doubles"),
        ({"nullableVersions": "0+"}, "int32 cannot be null"),
        ({"type": "string", "versions": "0-1", "nullableVersions": "2+"}, "must meet versions"),
        ({"type": "string", "default": "null"}, "the default is null, the field never is"),
        ({"type": "int7"}, "unknown type 'int7'"),
        ({"type": "[][]int8"}, "unknown type"),
        ({"type": "[]bytes"}, "arrays of bytes"),
        ({"fields": []}, "int32 has no fields"),
        ({"type": "S", "fields": []}, "a structure needs fields"),
        ({"type": "S", "fields": [{"name": "B"}]}, "key 'about' is missing"),
        ({"type": "S", "fields": [_field(type="S", fields=[_field()])]}, "two structures called S"),
    ],
)
def test_the_fault_of_a_field_is_named(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        load_spec(_write(tmp_path, _spec(fields=[_field(**changes)])))


def test_common_structures_may_not_be_described_again(tmp_path: Path) -> None:
    common = [{"name": "S", "versions": "0+", "fields": [_field()]}]
    fields = [_field(type="S", fields=[_field()])]
    with pytest.raises(SpecError, match="S is in commonStructs as well"):
        load_spec(_write(tmp_path, _spec(commonStructs=common, fields=fields)))


def test_broken_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ARequest.json"
    path.write_text("{")
    with pytest.raises(SpecError, match=r"ARequest\.json: .*line 1"):
        load_spec(path)


def test_an_api_key_belongs_to_one_message(tmp_path: Path) -> None:
    _write(tmp_path, _spec())
    _write(tmp_path, _spec(name="BRequest"), "BRequest")
    with pytest.raises(SpecError, match=r"BRequest\.json: apiKey 3 belongs to ARequest"):
        load_all(tmp_path)


@pytest.mark.parametrize(
    ("text", "versions"), [("none", None), ("3", (3, 3)), ("3-5", (3, 5)), ("3+", (3, 0x7FFF)), ("0", (0, 0))]
)
def test_version_ranges(text: str, versions: tuple[int, int] | None) -> None:
    assert parse_versions(text) == versions
