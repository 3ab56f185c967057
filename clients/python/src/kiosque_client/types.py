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


class LoginRequest(TypedDict):
    """Body of Log in."""

    username: str
    """The login name of the account; a display name is not accepted (AUTH-7)."""
    password: str
    """The original password, not hashed before."""


class SessionData(TypedDict):
    """`data` of Log in and of Switch group."""

    accessToken: str
    """Goes into the header `third-api-token`, complete and unchanged."""
    groupId: str
    """The currently selected group."""
    switchableGroups: list[SwitchableGroup]
    """The active groups that the account may select, its default first."""
    expiresIn: int
    """Absolute expiry, Unix time in milliseconds."""


class SwitchableGroup(TypedDict):
    """An entry of `switchableGroups`."""

    groupId: str
    """The value that Switch group takes."""
    groupName: str
    """The group's name, for people."""


class SwitchGroupRequest(TypedDict):
    """Body of Switch group."""

    groupId: str
    """One of `switchableGroups`."""


class DeviceFilter(TypedDict, total=False):
    """Body of List devices; every field may be left out."""

    groupId: str | None
    """Another active group of the account; does not switch."""
    deviceCode: str | None
    """Exactly this code."""
    deviceName: str | None
    """The name contains this text; case matters, no wildcards."""
    isOnline: int | None
    """1: only devices that are online, 0: only others."""


class DevicePage(TypedDict):
    """`data` of device and order lists."""

    total: int
    """Number of all matching records, also on a page past the end."""
    current: int
    """The page that was asked for, from 1."""
    size: int
    """The page size that was asked for."""
    records: list[Device]
    """The rows of the page."""


class Device(TypedDict):
    """A device of a device page."""

    deviceCode: str
    """Identifies the device."""
    deviceName: str
    """Its name, for people."""
    groupId: str
    """The group that owns it now."""
    groupName: str
    """The name of that group."""
    deviceModel: str
    """Its model; may be empty."""
    address: str
    """Its location; may be empty."""
    isOnline: int
    """1 when its last activity is recent, else 0."""
    totalCurrStock: int
    """Items in all its aisles, as last reported."""
    lastActiveTimestamp: int | None
    """Its last activity in this group, Unix time in milliseconds; null when there was none."""
    createTimestamp: int
    """When it was created, Unix time in milliseconds."""


class RequiredOrderFilter(TypedDict):
    """The required fields."""

    deviceCode: str
    """One device of the current scope."""


class OrderFilter(RequiredOrderFilter, total=False):
    """Body of List orders."""

    includeHistory: bool | None
    """Whether to include archived orders; false by default."""
    startTimestamp: int | None
    """Trades that started at or after this time, Unix milliseconds."""
    endTimestamp: int | None
    """Trades that started before this time, Unix milliseconds."""


class OrderPage(TypedDict):
    """`data` of device and order lists."""

    total: int
    """Number of all matching records, also on a page past the end."""
    current: int
    """The page that was asked for, from 1."""
    size: int
    """The page size that was asked for."""
    records: list[Order]
    """The rows of the page."""


class Order(TypedDict):
    """An element of an order list's `records`."""

    tradeNo: str
    """External trade number; may be empty."""
    tradeNoIn: str
    """Internal trade number, unique in a group."""
    orderId: str
    """Identifies the order in its group; not a trade number."""
    deviceCode: str
    """The device that sold."""
    currency: str
    """ISO 4217 code of every amount of the order."""
    totalAmount: int
    """The price of the order."""
    payAmount: int
    """The amount paid."""
    refundAmount: int
    """The amount refunded."""
    payStatus: int | int
    """0 unpaid, 1 paid, 2 cancelled, 3 refunding, 4 refunded; others may be added."""
    shipmentStatus: int | int
    """0 none, 1 success, 2 in progress, 3 failed, 4 partial; others may be added."""
    payChannelName: str | None
    """How it was paid; null when not reported."""
    shipmentTime: str | None
    """When it was shipped, in the platform's time zone; null when shipment has not occurred."""
    cardNumber: str | None
    """Masked but for its last four letters or digits."""
    phone: str | None
    """Masked but for its last four letters or digits."""
    tradeStartTime: str
    """When the trade started, in the platform's time zone, which the summary names."""
    payEndTime: str | None
    """When it was paid, in the platform's time zone; null when payment has not occurred."""
    payEndDate: str
    """`payEndTime`, or the trade's start while unpaid."""
    detailVOList: list[LineItem]
    """The lines."""


class PayStatus(IntEnum):
    """The payment of an order. Later versions may add values."""

    UNPAID = 0
    PAID = 1
    CANCELLED = 2
    REFUNDING = 3
    REFUNDED = 4


class ShipmentStatus(IntEnum):
    """The shipment of an order or of a line. Later versions may add values."""

    NONE = 0
    SUCCESS = 1
    IN_PROGRESS = 2
    FAILED = 3
    PARTIAL = 4


class LineItem(TypedDict):
    """A line of an order, under `detailVOList` and `detailList` alike. Names are as of the sale."""

    goodsId: str
    """The product sold."""
    goodsName: str
    """Its name when it was sold."""
    aisleCode: str
    """The aisle it came from."""
    count: int
    """How many."""
    goodsPrice: int
    """List price per item."""
    salePrice: int
    """Price per item as sold."""
    payAmount: int
    """The amount paid for the line."""
    shipmentStatus: int | int
    """0 none, 1 success, 2 in progress, 3 failed, 4 partial; others may be added."""
    shipmentErrCode: int
    """0 when there was no fault."""
    shipmentFailDesc: str | None
    """Description of the fault; null without one."""


class OrderDetailRequest(TypedDict, total=False):
    """Body of Order detail; at least one of the two must be non-empty."""

    tradeNoOut: str | None
    """The `tradeNo` of an order-list record."""
    tradeNoIn: str | None
    """The internal trade number."""


class OrderDetail(TypedDict):
    """`data` of Order detail."""

    tradeNo: str
    """External trade number; may be empty."""
    tradeNoIn: str
    """Internal trade number, unique in a group."""
    orderId: str
    """Identifies the order in its group; not a trade number."""
    deviceCode: str
    """The device that sold."""
    currency: str
    """ISO 4217 code of every amount of the order."""
    totalAmount: int
    """The price of the order."""
    payAmount: int
    """The amount paid."""
    refundAmount: int
    """The amount refunded."""
    payStatus: int | int
    """0 unpaid, 1 paid, 2 cancelled, 3 refunding, 4 refunded; others may be added."""
    shipmentStatus: int | int
    """0 none, 1 success, 2 in progress, 3 failed, 4 partial; others may be added."""
    payChannelName: str | None
    """How it was paid; null when not reported."""
    shipmentTime: str | None
    """When it was shipped, in the platform's time zone; null when shipment has not occurred."""
    cardNumber: str | None
    """Masked but for its last four letters or digits."""
    phone: str | None
    """Masked but for its last four letters or digits."""
    tradeStartTime: str
    """When the trade started, in the platform's time zone, which the summary names."""
    payEndTime: str | None
    """When it was paid, in the platform's time zone; null when payment has not occurred."""
    payEndDate: str
    """`payEndTime`, or the trade's start while unpaid."""
    detailList: list[LineItem]
    """The order's lines, which lists call `detailVOList`."""
    tradeNoOut: str
    """The external trade number again, under the name that requests use."""
    shipmentErrorList: list[ShipmentError] | None
    """The lines whose shipment failed; null when none did."""


class ShipmentError(TypedDict):
    """Why a line was not shipped."""

    goodsId: str
    """The product."""
    aisleCode: str
    """The aisle."""
    shipmentErrCode: int
    """The machine's fault code."""
    shipmentFailDesc: str | None
    """Description of the fault; null without one."""


class OrderChangesRequest(TypedDict, total=False):
    """Body of Order changes."""

    after: str | None
    """`next` of the answer before; null: from the first change on."""
    size: int | None
    """The largest number of records, 10 by default."""
    waitSeconds: int | None
    """Seconds that the answer waits if there is no change yet, 0 by default."""
    includeTotals: bool | None
    """True: the totals of the group, too."""


class RequiredOrderChanges(TypedDict):
    """The required fields."""

    records: list[OrderChange]
    """The orders, each at its latest change."""
    next: str
    """`after` of the next request."""
    more: bool
    """Whether there are further changes already."""


class OrderChanges(RequiredOrderChanges, total=False):
    """`data` of Order changes."""

    totals: OrderTotals | None
    """The totals of the group, if the request asks for them."""


class OrderChange(TypedDict):
    """An order at its latest change."""

    changeNo: int
    """The number of the change, larger than the number of any earlier change of the group."""
    order: Order
    """The record of an order list."""


class OrderTotals(TypedDict):
    """The totals of all orders of a group, archived ones included, in the state of the answer."""

    changeNo: int
    """The number of the last change of the group; 0 before the first."""
    orders: int
    """The number of orders."""
    sales: list[SalesTotals]
    """The totals of the sales in each currency that has any, sorted by currency."""


class SalesTotals(TypedDict):
    """The totals of the orders of a currency that are paid, refunding or refunded."""

    currency: str
    """ISO 4217 code of the amounts."""
    orders: int
    """The number of these orders."""
    payAmount: int
    """The sum of their `payAmount`, in minor units."""
    refundAmount: int
    """The sum of their `refundAmount`, in minor units."""


class DashboardFilter(TypedDict, total=False):
    """Body of every dashboard function but online devices; every field may be left out."""

    startTimestamp: int | None
    """The first instant of the range, Unix milliseconds; the month's first day, midnight, when left
    out."""
    endTimestamp: int | None
    """The first instant after the range, Unix milliseconds; now, when left out."""
    groupId: str | None
    """Another active group of the account; does not switch."""
    deviceCodes: list[str]
    """Only these devices of the scope; all when empty."""


class Summary(TypedDict):
    """`data` of the summary."""

    startTimestamp: int
    """The first instant of the range."""
    endTimestamp: int
    """The first instant after the range."""
    timeZone: str
    """The zone that days are counted in."""
    currency: str
    """`USD`."""
    kpiList: list[Kpi]
    """The figures."""
    unconvertedOrders: int
    """Sales of a currency that had no rate on their day: in no sum of dollars."""


class Kpi(TypedDict):
    """One figure of the summary."""

    code: str | str
    """Names the figure."""
    name: str
    """Its name, in the language of X-Locale."""
    value: str
    """Formatted: `1,234.50`, `42`, `97.5%`."""
    type: str | str
    """The format of `value`."""


class KpiCode(str, Enum):
    """Names a figure of the summary. Later versions may add values."""

    SALES_AMOUNT = "salesAmount"
    ORDER_COUNT = "orderCount"
    ITEM_COUNT = "itemCount"
    AVERAGE_ORDER_AMOUNT = "averageOrderAmount"
    REFUND_AMOUNT = "refundAmount"
    SHIPMENT_SUCCESS_RATE = "shipmentSuccessRate"
    DEVICE_COUNT = "deviceCount"
    ONLINE_DEVICE_COUNT = "onlineDeviceCount"
    ONLINE_RATE = "onlineRate"


class BestSellingProduct(TypedDict):
    """`data` of the best-selling product: the first of the ranking, and the ranking."""

    goodsId: str
    """Identifies the product."""
    goodsName: str
    """Its name."""
    price: Dollars | None
    """The lowest present price of a device, dollars; null when unknown."""
    defaultPrice: Dollars | None
    """Its default price, dollars; null when unknown."""
    averagePrice: Dollars | None
    """Average amount paid for one, dollars; null when no sale has a rate."""
    salesCount: int
    """Number of items sold."""
    salesAmount: Dollars
    """Amount paid for them, dollars."""
    deviceCount: int
    """Number of devices that sold it."""
    rankList: list[ProductSales]
    """The best ones, at most 10, the best first."""


class ProductSales(TypedDict):
    """The sales of one product."""

    goodsId: str
    """Identifies the product."""
    goodsName: str
    """Its name."""
    price: Dollars | None
    """The lowest present price of a device, dollars; null when unknown."""
    defaultPrice: Dollars | None
    """Its default price, dollars; null when unknown."""
    averagePrice: Dollars | None
    """Average amount paid for one, dollars; null when no sale has a rate."""
    salesCount: int
    """Number of items sold."""
    salesAmount: Dollars
    """Amount paid for them, dollars."""
    deviceCount: int
    """Number of devices that sold it."""


class DeviceSales(TypedDict):
    """An element of sales by device."""

    deviceCode: str
    """Identifies the device."""
    deviceName: str
    """Its name."""
    orderCount: int
    """Number of sales."""
    salesCount: int
    """Number of items."""
    salesAmount: Dollars
    """Amount paid, dollars."""


class TrendDay(TypedDict):
    """A day of the sales trend."""

    label: str
    """The day, in the platform's time zone."""
    amount: Dollars
    """Amount paid, dollars."""
    orderCount: int
    """Number of sales."""


class DeviceAisles(TypedDict):
    """A device of the aisle hierarchy."""

    deviceCode: str
    """Identifies the device."""
    deviceName: str
    """Its name."""
    cabinets: list[Cabinet]
    """Its cabinets, by code; none when it has no aisle."""


class Cabinet(TypedDict):
    """A cabinet of a device."""

    cabinetCode: str
    """Identifies the cabinet in its device."""
    layers: list[Layer]
    """Its layers, from the lowest number."""


class Layer(TypedDict):
    """A layer of a cabinet."""

    layer: int
    """Its number."""
    aisles: list[Aisle]
    """Its aisles, in the fleet's order."""


class Aisle(TypedDict):
    """An aisle. Its prices are integers in minor units of the product's currency, not dollars."""

    code: str
    """Identifies the aisle in its device."""
    showName: str
    """The name of the aisle, which is its code."""
    price: int
    """The selling price, minor units."""
    showPrice: int
    """The displayed price, minor units."""
    currency: str
    """The product's currency."""
    maxStock: int
    """Its capacity in items."""
    currStock: int
    """Items in it, as last reported."""
    isEnable: int
    """1 when it sells, else 0."""
    isBroken: int
    """1 when it is out of order, else 0."""
    goodsId: str
    """The product in it."""
    goodsName: str
    """The product's name."""


class DeviceProfile(TypedDict):
    """`data` of the device profile."""

    list: list[Device]
    """The devices that the group owns now, by code."""


class OnlineDevices(TypedDict):
    """`data` of online devices."""

    totalCount: int
    """The devices that the group owns now."""
    onlineCount: int
    """The number of online devices."""
    offlineCount: int
    """The number of offline devices."""
    list: list[OnlineDevice]
    """All devices, by code."""


class OnlineDevice(TypedDict):
    """An element of online devices."""

    deviceCode: str
    """Identifies the device."""
    deviceName: str
    """Its name."""
    isOnline: int
    """1 when its last activity is recent, else 0."""
    lastActiveTimestamp: int | None
    """Its last activity in this group, Unix milliseconds; null when there was none."""
