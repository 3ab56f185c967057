"""Amounts of money."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

_TWO_DECIMALS = (
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN "
    "BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUC CUP CVE CZK DKK DOP DZD EEK EGP ERN ETB EUR FJD "
    "FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD "
    "KZT LAK LBP LKR LRD LSL LTL LVL MAD MDL MGA MKD MMK MNT MOP MRO MRU MUR MVR MWK MXN MXV MYR "
    "MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD "
    "SHP SLE SLL SOS SRD SSP STD STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU "
    "UZS VED VEF VES WST XCD XCG YER ZAR ZMK ZMW ZWG ZWL"
)
_CODES = {
    0: "BIF BYR CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    2: _TWO_DECIMALS,
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_DECIMALS = {code: decimals for decimals, codes in _CODES.items() for code in codes.split()}


@dataclass(frozen=True)
class Money:
    """An amount in minor units of a currency (FMT-3): 250 is 2.50 EUR, 250 JPY or 0.250 KWD.

    Amounts are added and subtracted only in one currency.
    """

    minor: int
    currency: str

    def __post_init__(self) -> None:
        if self.currency not in _DECIMALS:
            raise ValueError(f"{self.currency!r} is not a currency of ISO 4217 with minor units")

    @property
    def decimal(self) -> Decimal:
        """The exact amount in major units."""
        # A tuple, unlike arithmetic, does not round to the precision of the context.
        digits = tuple(int(digit) for digit in str(abs(self.minor)))
        return Decimal((int(self.minor < 0), digits, -_DECIMALS[self.currency]))

    def __add__(self, other: Money) -> Money:
        self._check(other)
        return Money(self.minor + other.minor, self.currency)

    def __sub__(self, other: Money) -> Money:
        self._check(other)
        return Money(self.minor - other.minor, self.currency)

    def _check(self, other: Money) -> None:
        if self.currency != other.currency:
            raise ValueError(f"{self} and {other} are of different currencies")

    def __str__(self) -> str:
        return f"{self.decimal:f} {self.currency}"
