"""A client of Kiosque, the device and order query service of vending kiosks.

    with Account("https://kiosque.example.com/v8", "acme", password_file="acme.pw") as account:
        for group in account.groups():
            for order in group.orders():
                print(group.name, order["orderId"], Money(order["totalAmount"], order["currency"]))
"""

from .account import Account
from .changes import ChangePage, Changes
from .errors import InvalidRequest, KiosqueError, ListChanged, NoAnswer, NotAnEnvelope, Refused
from .errors import ServerFailed, SetupError, TokenRefused, WrongCredentials, WrongGroup
from .group import Group
from .money import Money
from .retry import Timing
from .transport import Answer, Transport
from .walk import OrderWalk
from .wall_time import instants, wall_time

__all__ = [
    "Account", "Answer", "ChangePage", "Changes", "Group", "InvalidRequest", "KiosqueError",
    "ListChanged", "Money", "NoAnswer", "NotAnEnvelope", "OrderWalk", "Refused", "ServerFailed",
    "SetupError", "Timing", "TokenRefused", "Transport", "WrongCredentials", "WrongGroup",
    "instants", "wall_time",
]
