"""Money and local times."""

import unittest
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

from kiosque_client import Money, instants, wall_time


class Amounts(unittest.TestCase):
    def test_an_amount_has_the_decimals_of_its_currency(self):
        """FMT-3."""
        for minor, code, text in [
            (250, "EUR", "2.50 EUR"), (250, "JPY", "250 JPY"), (250, "KWD", "0.250 KWD"),
            (250, "LTL", "2.50 LTL"), (250, "BYR", "250 BYR"),
            (-5, "USD", "-0.05 USD"), (0, "USD", "0.00 USD"),
            (-(2**63), "USD", "-92233720368547758.08 USD"),
            (10**40 + 1, "EUR", "1" + "0" * 37 + "0.01 EUR"),
        ]:
            self.assertEqual(str(Money(minor, code)), text)
        self.assertEqual(Money(250, "KWD").decimal, Decimal("0.25"))

    def test_only_amounts_of_one_currency_have_a_sum(self):
        self.assertEqual(Money(1, "EUR") + Money(2, "EUR"), Money(3, "EUR"))
        self.assertEqual(Money(1, "EUR") - Money(2, "EUR"), Money(-1, "EUR"))
        with self.assertRaises(ValueError):
            Money(1, "EUR") + Money(2, "USD")
        for code in ["XXX", "eur", "EURO", ""]:
            with self.assertRaises(ValueError):
                Money(1, code)


class WallTimes(unittest.TestCase):
    def test_a_local_time_has_no_one_or_two_instants(self):
        """FMT-2."""
        paris = ZoneInfo("Europe/Paris")
        winter = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)
        self.assertEqual(instants("2026-03-02 10:00:00", paris), (winter,))
        self.assertEqual(instants("2026-03-29 02:30:00", paris), ())
        first = datetime(2026, 10, 25, 0, 30, tzinfo=timezone.utc)
        twice = (first, first + timedelta(hours=1))
        self.assertEqual(instants("2026-10-25 02:30:00", paris), twice)

    def test_only_the_form_of_the_interface_is_a_local_time(self):
        self.assertEqual(wall_time("2026-03-02 10:00:00"), datetime(2026, 3, 2, 10))
        for text in ["2026-03-02", "2026-03-02T10:00:00", "2026-02-30 10:00:00",
                     "2026-03-02 10:00:60", "", "2026-03-02 10:00:00\n", "２026-03-02 10:00:00"]:
            with self.assertRaises(ValueError):
                wall_time(text)
