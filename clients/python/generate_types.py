"""Writes `types.py` and `dashboard.py`, from the OpenAPI document: python3 generate_types.py"""

import json
import re
import textwrap
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs/openapi.json"
TYPES = Path(__file__).parent / "src/kiosque_client/types.py"
DASHBOARD = TYPES.with_name("dashboard.py")
PYTHON = {"string": "str", "integer": "int", "number": "Dollars", "boolean": "bool", "null": "None"}
# Their values are texts and numbers whose names only the document has.
WITHOUT_CLASS = {"Flag", "KpiType", "RefusalCode"}
HEAD = '''\
"""Requests and answers, field by field as in the OpenAPI document, which this file is made from.

Later versions may add fields to answers, and values to enumerations: ignore a field that you do not
know, and treat an unknown value as such.
"""

from __future__ import annotations

from decimal import Decimal
from enum import Enum, IntEnum
from typing import TypedDict, Union

Dollars = Union[Decimal, int]
"""An exact amount of US dollars."""
'''
DASHBOARD_HEAD = '''\
"""The dashboard functions, as in the OpenAPI document, which this file is made from."""

from __future__ import annotations

from typing import Any, cast

'''
DASHBOARD_CLASS = '''\


class Dashboard:
    """The dashboard functions of a group."""

    def _call(self, path: str, body: object) -> Any:
        raise NotImplementedError
'''


def text():
    """Returns the content of `types.py`."""
    schemas = json.loads(DOCUMENT.read_text())["components"]["schemas"]
    # The envelopes are read by `envelope_of`.
    shown = {name: schema for name, schema in schemas.items() if name not in WITHOUT_CLASS
             and not name.endswith("Answer") and name != "Refusal"}
    return "\n\n".join([HEAD, *(class_of(name, schema, schemas) for name, schema in shown.items())])


def dashboard_text():
    """Returns the content of `dashboard.py`."""
    document = json.loads(DOCUMENT.read_text())
    schemas = document["components"]["schemas"]
    calls = {path: methods["post"] for path, methods in document["paths"].items()}
    methods = [method_of(path, call, schemas) for path, call in calls.items()
               if call["tags"] == ["Dashboard"]]
    used = set(re.findall(r"\w+", "".join(methods))) & schemas.keys()
    imports = "".join(f"from .types import {name}\n" for name in sorted(used))
    return DASHBOARD_HEAD + imports + DASHBOARD_CLASS + "".join(methods)


def method_of(path, call, schemas):
    """Returns the method of a call."""
    name = re.sub("[A-Z]", lambda upper: "_" + upper[0].lower(), call["operationId"])
    answer = schemas[f"{call['operationId'][0].upper()}{call['operationId'][1:]}Answer"]
    data = type_of(answer["properties"]["data"], schemas)
    if "requestBody" in call:
        request = call["requestBody"]["content"]["application/json"]["schema"]
        filters, body = f", filters: {type_of(request, schemas)} | None = None", "filters or {}"
    else:
        filters, body = "", "None"
    head = f"    def {name}(self{filters}) -> {data}:\n"
    if len(head) > 100:
        head = f"    def {name}(\n        self{filters}\n    ) -> {data}:\n"
    about = comment(call["summary"].replace("Answers with", "Returns"))
    called = path.split("/v1/")[-1]
    return f'''
{head}{textwrap.indent(about, "    ")}        data = self._call("{called}", {body})
        return cast("{data}", data)
'''


def class_of(name, schema, schemas):
    """Returns the class of a schema."""
    about = comment(schema["description"])
    if "enum" in schema:
        base = "IntEnum" if schema["type"] == "integer" else "str, Enum"
        values = zip(schema["x-enum-varnames"], schema["enum"])
        lines = "".join(f"    {value_name} = {value!r}\n" for value_name, value in values)
        return f"class {name}({base}):\n{about}\n{lines}".replace("'", '"')
    required = schema.get("required", [])
    fields = {True: "", False: ""}
    for field, one in schema["properties"].items():
        line = f"    {field}: {type_of(one, schemas)}\n{comment(one['description'])}"
        fields[field in required] += line
    if not fields[False]:
        return f"class {name}(TypedDict):\n{about}\n{fields[True]}"
    if not fields[True]:
        return f"class {name}(TypedDict, total=False):\n{about}\n{fields[False]}"
    base = f"class Required{name}(TypedDict):\n{comment('The required fields.')}\n{fields[True]}"
    return f"{base}\n\nclass {name}(Required{name}, total=False):\n{about}\n{fields[False]}"


def type_of(schema, schemas):
    """Returns the type of a field."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return type_of({"type": schemas[name]["type"]}, {}) if "enum" in schemas[name] else name
    if "anyOf" in schema:
        return " | ".join(type_of(choice, schemas) for choice in schema["anyOf"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    array = f"list[{type_of(schema['items'], schemas)}]" if "array" in kinds else ""
    return " | ".join(array if kind == "array" else PYTHON[kind] for kind in kinds)


def comment(description):
    """Returns a docstring of at most 100 columns."""
    lines = textwrap.wrap(f'"""{description}"""', 96)
    return "".join(f"    {line}\n" for line in lines)


if __name__ == "__main__":
    TYPES.write_text(text())
    DASHBOARD.write_text(dashboard_text())
