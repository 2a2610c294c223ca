"""Read and check message specs in Kafka's spec language.

A spec is a JSON file with ``//`` comment lines. It describes one message in all its versions. An error is one line with
the file, the place and the rule. Comments at the head become the class's version notes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import attrs

__all__ = ["FieldSpec", "MessageSpec", "SpecError", "StructSpec", "Versions", "load_all", "load_spec", "parse_versions"]

OPEN_END = 0x7FFF
PRIMITIVES = frozenset(
    {"bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "string", "uuid", "bytes", "records"}
)
MESSAGE_TYPES = frozenset({"request", "response", "header", "metadata", "data"})
LISTENERS = frozenset({"broker", "controller", "zkBroker"})

_TOP_KEYS = frozenset(
    {"apiKey", "type", "listeners", "name", "validVersions", "flexibleVersions", "commonStructs", "fields"}
)
_STRUCT_KEYS = frozenset({"name", "versions", "about", "fields"})
_FIELD_KEYS = frozenset(
    {"name", "type", "versions", "nullableVersions", "taggedVersions", "tag", "default", "ignorable", "entityType"}
    | {"mapKey", "about", "fields", "flexibleVersions"}
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*\Z")

Versions = tuple[int, int]


class SpecError(Exception):
    """A spec breaks a rule. The message is one line: file, place, rule."""


@attrs.frozen
class FieldSpec:
    """One field. ``type`` is Kafka's, including array brackets. ``kraft.wire.schema.Field`` explains the other
    attributes.
    """

    name: str
    type: str
    versions: Versions
    nullable: Versions | None
    tagged: Versions | None
    tag: int | None
    default: str | None
    ignorable: bool
    compact: bool
    about: str

    @property
    def item_type(self) -> str:
        return self.type.removeprefix("[]")

    @property
    def is_array(self) -> bool:
        return self.type.startswith("[]")

    @property
    def is_struct(self) -> bool:
        return self.item_type not in PRIMITIVES


@attrs.frozen
class StructSpec:
    """A structure: one generated class."""

    name: str
    about: str
    versions: Versions
    fields: tuple[FieldSpec, ...]


@attrs.frozen
class MessageSpec:
    """A whole message. ``structs`` come after the structures that they use, so the message itself is the last."""

    name: str
    type: str
    api_key: int | None
    listeners: tuple[str, ...]
    valid: Versions
    flexible: Versions | None
    notes: str
    structs: tuple[StructSpec, ...]


def parse_versions(text: str) -> Versions | None:
    """Read ``3``, ``3-5``, ``3+`` or ``none``."""
    if text == "none":
        return None
    match = re.fullmatch(r"(\d+)(\+|-(\d+))?", text)
    if match is None:
        raise SpecError(f"versions {text!r}: want N, N-M, N+ or none")
    first = int(match[1])
    last = first if match[2] is None else OPEN_END if match[2] == "+" else int(match[3])
    if last < first:
        raise SpecError(f"versions {text!r}: the last is below the first")
    return first, last


def load_all(directory: Path) -> list[MessageSpec]:
    """Read every spec of the directory, by name, and check that each API key is used once.

    Raises SpecError if a spec breaks a rule.
    """
    specs = [load_spec(path) for path in sorted(directory.glob("*.json"))]
    claimed: dict[tuple[str, int], str] = {}
    for spec in specs:
        if spec.api_key is not None:
            other = claimed.setdefault((spec.type, spec.api_key), spec.name)
            if other != spec.name:
                raise SpecError(f"{spec.name}.json: apiKey {spec.api_key} belongs to {other}")
    return specs


def load_spec(path: Path) -> MessageSpec:
    """Read one spec file. Raises SpecError if the file is not JSON or breaks a rule."""
    lines = path.read_text(encoding="utf-8").splitlines()
    notes = [line.strip().removeprefix("//").strip() for line in lines if line.strip().startswith("//")]
    body = "\n".join("" if line.strip().startswith("//") else line for line in lines)
    try:
        spec = _Reader(json.loads(body)).read(" ".join(notes))
        if spec.name != path.stem:
            raise SpecError(f"name {spec.name!r} is not the file's")
    except (SpecError, json.JSONDecodeError) as error:
        raise SpecError(f"{path.name}: {error}") from None
    return spec


class _Reader:
    """Converts the JSON of one message to a ``MessageSpec``, and checks it."""

    def __init__(self, top: dict[str, Any]) -> None:
        self.top = top
        self.structs: dict[str, StructSpec] = {}
        self.common = {entry["name"]: entry for entry in top.get("commonStructs", [])}
        self.flexible: Versions | None = None
        self.valid: Versions = (0, 0)

    def read(self, notes: str) -> MessageSpec:
        top = self.top
        _check_keys("message", top, _TOP_KEYS, {"type", "name", "validVersions", "flexibleVersions", "fields"})
        _check_one_of("type", top["type"], MESSAGE_TYPES)
        for listener in top.get("listeners", []):
            _check_one_of("listeners", listener, LISTENERS)
        keyed = top["type"] in ("request", "response", "metadata")
        if keyed != isinstance(top.get("apiKey"), int):
            raise SpecError(f"a {top['type']} message {'needs an' if keyed else 'has no'} apiKey")
        valid = parse_versions(top["validVersions"])
        if valid is None or valid[1] == OPEN_END:
            raise SpecError("validVersions must be N or N-M")
        self.valid, self.flexible = valid, parse_versions(top["flexibleVersions"])
        if self.flexible and self.flexible[1] != OPEN_END:
            raise SpecError("flexibleVersions must be N+ or none")
        self.struct(top["name"], "", valid, top["fields"], top["name"])
        unused = self.common.keys() - self.structs.keys()
        if unused:
            raise SpecError(f"commonStructs: {min(unused)} is never used")
        return MessageSpec(
            top["name"],
            top["type"],
            top.get("apiKey"),
            tuple(top.get("listeners", ())),
            valid,
            self.flexible,
            notes,
            tuple(self.structs.values()),
        )

    def struct(self, name: str, about: str, versions: Versions, fields: list[dict[str, Any]], place: str) -> None:
        """Read a structure. Nested structures are read first, so they are listed before it."""
        if not fields and place != name:
            raise SpecError(f"{place}: a structure needs fields")
        read = tuple(self.field(field, place) for field in fields)
        names = [field.name for field in read]
        for field_name in names:
            if names.count(field_name) > 1:
                raise SpecError(f"{place}: there are two fields called {field_name}")
        _check_tags(read, place)
        if name in self.structs:
            raise SpecError(f"{place}: there are two structures called {name}")
        self.structs[name] = StructSpec(name, about, versions, read)

    def field(self, entry: dict[str, Any], place: str) -> FieldSpec:
        _check_keys(place, entry, _FIELD_KEYS, {"name", "type", "versions", "about"})
        place = f"{place}.{entry['name']}"
        if not _NAME.match(entry["name"]):
            raise SpecError(f"{place}: not a name")
        try:
            versions = parse_versions(entry["versions"])
            nullable = parse_versions(entry.get("nullableVersions", "none"))
            tagged = parse_versions(entry.get("taggedVersions", "none"))
            compact = parse_versions(entry.get("flexibleVersions", "0+")) is not None
        except SpecError as error:
            raise SpecError(f"{place}: {error}") from None
        if versions is None:
            raise SpecError(f"{place}: versions must not be none")
        if (tagged is None) != ("tag" not in entry):
            raise SpecError(f"{place}: tag and taggedVersions go together")
        if tagged and (not self.flexible or tagged[0] < self.flexible[0]):
            raise SpecError(f"{place}: taggedVersions lie outside flexibleVersions")
        for inner in (nullable, tagged):
            if inner and inner[0] > versions[1]:
                raise SpecError(f"{place}: nullableVersions and taggedVersions must meet versions")
        read = FieldSpec(
            name=entry["name"],
            type=entry["type"],
            versions=versions,
            nullable=nullable,
            tagged=tagged,
            tag=entry.get("tag"),
            default=entry.get("default"),
            ignorable=entry.get("ignorable", False),
            compact=compact,
            about=entry["about"],
        )
        self.check_type(read, entry, place)
        return read

    def check_type(self, field: FieldSpec, entry: dict[str, Any], place: str) -> None:
        name = field.item_type
        if field.nullable and not (field.is_array or field.is_struct or name in ("string", "bytes", "records")):
            raise SpecError(f"{place}: {name} cannot be null")
        if field.default == "null" and not field.nullable:
            raise SpecError(f"{place}: the default is null, the field never is")
        if not field.is_struct:
            if "fields" in entry:
                raise SpecError(f"{place}: {name} has no fields")
            if field.is_array and name in ("bytes", "records"):
                raise SpecError(f"{place}: arrays of {name} are not supported")
            return
        if not _NAME.match(name):
            raise SpecError(f"{place}: unknown type {field.type!r}")
        if "fields" in entry:
            if name in self.common:
                raise SpecError(f"{place}: {name} is in commonStructs as well")
            self.struct(name, field.about, field.versions, entry["fields"], f"{place}.{name}")
        elif name not in self.common:
            raise SpecError(f"{place}: unknown type {field.type!r}")
        elif name not in self.structs:
            common = self.common[name]
            _check_keys(name, common, _STRUCT_KEYS, {"name", "versions", "fields"})
            about = common.get("about", field.about)
            versions = parse_versions(common["versions"]) or field.versions
            self.struct(name, about, versions, common["fields"], f"commonStructs.{name}")


def _check_keys(place: str, entry: dict[str, Any], known: frozenset[str], needed: set[str]) -> None:
    if unknown := entry.keys() - known:
        raise SpecError(f"{place}: unknown key {min(unknown)!r}")
    if missing := needed - entry.keys():
        raise SpecError(f"{place}: key {min(missing)!r} is missing")


def _check_one_of(key: str, value: object, allowed: frozenset[str]) -> None:
    if value not in allowed:
        raise SpecError(f"{key} is {value!r}; allowed: {', '.join(sorted(allowed))}")


def _check_tags(fields: tuple[FieldSpec, ...], place: str) -> None:
    tags = sorted(field.tag for field in fields if field.tag is not None)
    if tags != list(range(len(tags))):
        raise SpecError(f"{place}: tags are {tags}; they must count up from 0 without gaps or doubles")
