"""The types of the package are those of the OpenAPI document."""

import json
import types as python_types
import typing
import unittest
from decimal import Decimal
from pathlib import Path

from kiosque_client import types

DOCUMENT = Path(__file__).parents[3] / "docs/openapi.json"
SCHEMAS = json.loads(DOCUMENT.read_text())["components"]["schemas"]
PYTHON = {"string": {"str"}, "integer": {"int"}, "number": {"Decimal", "int"}, "boolean": {"bool"},
          "null": {"None"}}
# Values of these are texts and numbers with names in the documents alone.
WITHOUT_CLASS = {"Flag", "KpiType", "RefusalCode"}


def of_schema(schema):
    """Returns the names of the Python types of a schema."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return of_schema(SCHEMAS[name]) if "enum" in SCHEMAS[name] else {name}
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return set().union(*map(of_schema, schema[choice]))
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    arrays = {f"list[{', '.join(sorted(of_schema(schema['items'])))}]"} if "array" in kinds else set()
    return arrays.union(*(PYTHON[kind] for kind in kinds if kind != "array"))


def of_hint(hint):
    """Returns the names of the types of a hint."""
    if typing.get_origin(hint) in (typing.Union, python_types.UnionType):
        return set().union(*map(of_hint, typing.get_args(hint)))
    if typing.get_origin(hint) is list:
        return {f"list[{', '.join(sorted(of_hint(typing.get_args(hint)[0])))}]"}
    return {"None" if hint is type(None) else hint.__name__}


class Types(unittest.TestCase):
    maxDiff = None

    def test_every_field_has_its_name_its_type_and_its_nullability(self):
        # The envelope is read by `envelope_of`, below.
        objects = {name: schema for name, schema in SCHEMAS.items() if "properties" in schema
                   and not name.endswith("Answer") and name != "Refusal"}
        document = {name: {field: of_schema(schema) for field, schema in one["properties"].items()}
                    for name, one in objects.items()}
        package = {name: {field: of_hint(hint) for field, hint in
                          typing.get_type_hints(getattr(types, name)).items()}
                   for name in objects if hasattr(types, name)}
        self.assertEqual(package, document)
        required = {name: set(one.get("required", [])) for name, one in objects.items()}
        own = {name: set(getattr(types, name).__required_keys__) for name in objects}
        self.assertEqual(own, required)

    def test_the_package_has_no_type_that_the_document_lacks(self):
        own = {name for name, one in vars(types).items() if typing.is_typeddict(one)
               and one.__module__ == types.__name__}
        self.assertEqual(own - set(SCHEMAS) - {"TypedDict"}, {"ChangesFields", "DeviceOrders", "OrderFields"})

    def test_enumerations_have_the_values_of_the_document(self):
        document = {name: dict(zip(schema["x-enum-varnames"], schema["enum"]))
                    for name, schema in SCHEMAS.items() if "enum" in schema}
        package = {name: {one.name: one.value for one in getattr(types, name)}
                   for name in document.keys() - WITHOUT_CLASS}
        self.assertEqual(package, {name: values for name, values in document.items()
                                   if name not in WITHOUT_CLASS})

    def test_envelopes_have_the_fields_that_are_read(self):
        for name, schema in SCHEMAS.items():
            if name.endswith("Answer") or name == "Refusal":
                fields = schema["properties"]
                self.assertEqual(list(fields), ["code", "msg", "enMsg", "data"])
                self.assertEqual(of_schema(fields["code"]), {"int"})
                self.assertLessEqual(of_schema(fields["enMsg"]), {"str", "None"})

    def test_every_call_of_the_document_is_a_method(self):
        package = DOCUMENT.parents[1] / "clients/python/src/kiosque_client"
        source = "".join(path.read_text() for path in package.glob("*.py"))
        dashboards = "kioskDashboard/"
        for path in json.loads(DOCUMENT.read_text())["paths"]:
            name = path.split("/v1/")[-1].lstrip("/")
            called = f'_dashboard("{name[len(dashboards):]}"' if name.startswith(dashboards) else name
            self.assertTrue(called in source or name in source, path)

    def test_dollars_are_decimals(self):
        self.assertEqual(set(typing.get_args(types.Dollars)), {Decimal, int})
