"""The types of the package match the OpenAPI document."""

import json
import typing
import unittest
from decimal import Decimal

import generate_types
from kiosque_client import types

DOCUMENT = json.loads(generate_types.DOCUMENT.read_text())


class Types(unittest.TestCase):
    def test_the_generated_files_are_those_of_the_document(self):
        for file, text in [(generate_types.TYPES, generate_types.text()),
                           (generate_types.DASHBOARD, generate_types.dashboard_text())]:
            self.assertEqual(file.read_text(), text, "run python3 generate_types.py")

    def test_envelopes_have_the_fields_that_are_read(self):
        for name, schema in DOCUMENT["components"]["schemas"].items():
            if name.endswith("Answer") or name == "Refusal":
                fields = schema["properties"]
                self.assertEqual(list(fields), ["code", "msg", "enMsg", "data"])

    def test_every_call_of_the_document_is_a_method(self):
        package = generate_types.TYPES.parent
        source = "".join(path.read_text() for path in package.glob("*.py"))
        for path in DOCUMENT["paths"]:
            self.assertIn(path.split("/v1/")[-1].lstrip("/"), source)

    def test_dollars_are_decimals(self):
        self.assertEqual(set(typing.get_args(types.Dollars)), {Decimal, int})
