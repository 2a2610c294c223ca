"""Write the Python module of a message: one class per structure, with the schema that the codec reads.

The classes are plain Python, with slots and a written constructor: ``attrs`` would compile the constructors of hundreds
of classes at each start of a node.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from kraft.codegen.names import camel_case, json_name, snake_case
from kraft.codegen.spec import FieldSpec, MessageSpec, SpecError, StructSpec, Versions

__all__ = ["render_message"]

_OPEN_END = 0x7FFF
_WIDTH = 120
_NEW = "NEW"
_PYTHON_TYPES = {
    **dict.fromkeys(("int8", "int16", "uint16", "int32", "uint32", "int64"), "int"),
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "uuid": "UUID",
    "bytes": "bytes",
    "records": "Records",
}
_ZERO = {
    **dict.fromkeys(("int8", "int16", "uint16", "int32", "uint32", "int64"), "0"),
    "bool": "False",
    "float64": "0.0",
    "string": '""',
    "uuid": "ZERO_UUID",
    "bytes": 'b""',
    "records": "None",
}


def render_message(spec: MessageSpec) -> str:
    """Return the source of the message's module, before formatting.

    Raises SpecError if a default does not have its field's type.
    """
    body = "\n\n".join("\n".join(_render_class(spec, struct)) for struct in spec.structs)
    lines = [
        f'"""Generated from spec/{spec.name}.json by ``python -m kraft.codegen``; do not edit."""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import ClassVar",
    ]
    if "UUID" in body.replace("ZERO_UUID", ""):
        lines.append("from uuid import UUID")
    schema = [name for name in (_NEW, "OPEN", "Field", "Message") if re.search(rf"\b{name}\b", body)]
    lines += ["", f"from kraft.wire.schema import {', '.join(schema)}"]
    if "Records" in {_python_type(field) for struct in spec.structs for field in struct.fields}:
        lines.append("from kraft.wire.splice import Records")
    if "ZERO_UUID" in body:
        lines.append("from kraft.wire.uuids import ZERO_UUID")
    names = ", ".join(f'"{name}"' for name in sorted(struct.name for struct in spec.structs))
    lines += ["", f"__all__ = [{names}]", "", "", body, ""]
    return "\n".join(lines)


def _render_class(spec: MessageSpec, struct: StructSpec) -> Iterator[str]:
    top = struct is spec.structs[-1]
    yield f"class {struct.name}(Message):"
    yield from _docstring(spec, struct, top)
    if top:
        if spec.api_key is not None:
            yield f"    API_KEY: ClassVar[int] = {spec.api_key}"
        yield f"    VALID_VERSIONS: ClassVar[tuple[int, int]] = {spec.valid}"
        if spec.flexible:
            yield f"    FLEXIBLE_FROM: ClassVar[int] = {spec.flexible[0]}"
        yield ""
    names = [snake_case(field.name) for field in struct.fields]
    slots = ", ".join(f'"{name}"' for name in names)
    yield f"    __slots__ = ({slots}{',' if len(names) == 1 else ''})"
    yield ""
    if not struct.fields:
        return
    yield "    FIELDS: ClassVar[tuple[Field, ...]] = ("
    for field in struct.fields:
        yield f"        Field({', '.join(_field_arguments(field))}),"
    yield "    )"
    yield ""
    yield "    def __init__("
    yield "        self,"
    for name, field in zip(names, struct.fields, strict=True):
        yield f"        {name}: {_python_type(field)} = {_default(field, in_constructor=True)},"
    yield "    ) -> None:"
    for name, field in zip(names, struct.fields, strict=True):
        yield f"        self.{name} = {_assigned(name, field)}"


def _assigned(name: str, field: FieldSpec) -> str:
    """Return the value of an attribute as Python source. Each message has a list and a structure of its own."""
    if _default(field, in_constructor=True) != _NEW:
        return name
    return f"{'[]' if field.is_array else f'{field.type}()'} if {name} is {_NEW} else {name}"


def _docstring(spec: MessageSpec, struct: StructSpec, top: bool) -> Iterator[str]:
    """Return a docstring: the head has the versions, the body the version notes and the purpose of each field."""
    if top:
        kind = {"header": "header", "metadata": f"metadata record, type {spec.api_key}", "data": "data"}.get(
            spec.type, f"{spec.type} of API {spec.api_key}"
        )
        flexible = f", flexible from {spec.flexible[0]}" if spec.flexible else ""
        head = f"{spec.name} ({kind}): versions {_versions_text(spec.valid)}{flexible}."
        yield from _wrapped(f'"""{head}', "    ")
        if spec.notes:
            yield ""
            yield from _wrapped(_escaped(spec.notes), "    ")
    else:
        about = _escaped(struct.about) or f"Part of {spec.name}."
        head = f'"""{about} ({_versions_text(struct.versions)})'
        yield from _wrapped(head, "    ")
    if struct.fields:
        yield ""
        yield "    Attributes:"
    for field in struct.fields:
        versions = "" if field.versions == (0, _OPEN_END) else f" ({_versions_text(field.versions)})"
        yield from _wrapped(f"{snake_case(field.name)}{versions}: {_escaped(field.about)}", "        ", "    ")
    yield '    """'
    yield ""


def _wrapped(text: str, indent: str, hanging: str = "") -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent + hanging, break_on_hyphens=False
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', "'''")


def _versions_text(versions: Versions) -> str:
    first, last = versions
    return f"{first}+" if last == _OPEN_END else str(first) if first == last else f"{first}-{last}"


def _python_type(field: FieldSpec) -> str:
    item = field.item_type if field.is_struct else _PYTHON_TYPES[field.item_type]
    whole = f"list[{item}]" if field.is_array else item
    return f"{whole} | None" if field.nullable and whole != "Records" else whole


def _default(field: FieldSpec, in_constructor: bool = False) -> str:
    """Return the default as Python source. In a constructor, a mutable default is ``NEW``."""
    text = field.default
    if text == "null" or field.type == "records":
        return "None"
    if field.is_array or field.is_struct:
        if text:
            raise SpecError(f"{field.name}: an array or structure has no default but null")
        return _NEW if in_constructor else ""
    if text is None or text == "":
        return _ZERO[field.type]
    return _literal(field, text)


def _literal(field: FieldSpec, text: str) -> str:
    try:
        if field.type == "string":
            return f'"{_escaped(text)}"'
        if field.type == "bool":
            return {"true": "True", "false": "False"}[text]
        if field.type == "float64":
            return repr(float(text))
        if "int" in field.type:
            return str(int(text, 0))
    except (KeyError, ValueError):
        pass
    raise SpecError(f"{field.name}: {text!r} is no default for {field.type}")


def _field_arguments(field: FieldSpec) -> Iterator[str]:
    name = snake_case(field.name)
    yield f'"{name}"'
    if field.is_struct:
        yield '"[]struct"' if field.is_array else '"struct"'
        yield field.item_type
    else:
        yield f'"{field.type}"'
    if field.versions != (0, _OPEN_END):
        yield f"versions={_versions(field.versions)}"
    if field.nullable:
        yield f"nullable={_versions(field.nullable)}"
    if field.tagged:
        yield f"tag={field.tag}"
        yield f"tagged={_versions(field.tagged)}"
    default = _default(field)
    if default and default != _ZERO.get(field.type):
        yield f"default={default}"
    if field.ignorable:
        yield "ignorable=True"
    if not field.compact:
        yield "compact=False"
    if json_name(field.name) != camel_case(name):
        yield f'json_name="{json_name(field.name)}"'


def _versions(versions: Versions) -> str:
    first, last = versions
    return f"({first}, {'OPEN' if last == _OPEN_END else last})"
