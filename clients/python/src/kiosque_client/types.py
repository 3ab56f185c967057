"""Requests and answers, field by field as in the OpenAPI document.

Later versions may add fields to answers, and values to enumerations: ignore a field that you do not
know, and treat an unknown value as such.
"""

from __future__ import annotations

from decimal import Decimal
from enum import Enum, IntEnum
from typing import TypedDict, Union

Dollars = Union[Decimal, int]
"""An exact amount of US dollars."""

# The known values of `payStatus`.
PayStatus = IntEnum("PayStatus", "UNPAID PAID CANCELLED REFUNDING REFUNDED", start=0)

# The known values of `shipmentStatus`.
ShipmentStatus = IntEnum("ShipmentStatus", "NONE SUCCESS IN_PROGRESS FAILED PARTIAL", start=0)


class KpiCode(str, Enum):
    """The known values of `code` of a KPI."""

    SALES_AMOUNT = "salesAmount"
    ORDER_COUNT = "orderCount"
    ITEM_COUNT = "itemCount"
    AVERAGE_ORDER_AMOUNT = "averageOrderAmount"
    REFUND_AMOUNT = "refundAmount"
    SHIPMENT_SUCCESS_RATE = "shipmentSuccessRate"
    DEVICE_COUNT = "deviceCount"
    ONLINE_DEVICE_COUNT = "onlineDeviceCount"
    ONLINE_RATE = "onlineRate"


# Body of Log in.
LoginRequest = TypedDict("LoginRequest", {"username": str, "password": str})

# `data` of Log in and of Switch group.
SessionData = TypedDict("SessionData", {
    "accessToken": str, "groupId": str, "switchableGroups": "list[SwitchableGroup]",
    "expiresIn": int,
})

# An entry of `switchableGroups`.
SwitchableGroup = TypedDict("SwitchableGroup", {"groupId": str, "groupName": str})

# Body of Switch group.
SwitchGroupRequest = TypedDict("SwitchGroupRequest", {"groupId": str})

# Body of List devices; every field may be left out.
DeviceFilter = TypedDict("DeviceFilter", {
    "groupId": str | None, "deviceCode": str | None, "deviceName": str | None,
    "isOnline": int | None,
}, total=False)

# `data` of device and order lists.
DevicePage = TypedDict("DevicePage", {
    "total": int, "current": int, "size": int, "records": "list[Device]",
})

# A device of a device page.
Device = TypedDict("Device", {
    "deviceCode": str, "deviceName": str, "groupId": str, "groupName": str, "deviceModel": str,
    "address": str, "isOnline": int, "totalCurrStock": int, "lastActiveTimestamp": int | None,
    "createTimestamp": int,
})

# The required field of `OrderFilter`.
DeviceOrders = TypedDict("DeviceOrders", {"deviceCode": str})


class OrderFilter(DeviceOrders, total=False):
    """Body of List orders."""

    includeHistory: bool | None
    startTimestamp: int | None
    endTimestamp: int | None


# `data` of device and order lists.
OrderPage = TypedDict("OrderPage", {
    "total": int, "current": int, "size": int, "records": "list[Order]",
})

# The fields that an order has in a list and in its detail.
OrderFields = TypedDict("OrderFields", {
    "tradeNo": str, "tradeNoIn": str, "orderId": str, "deviceCode": str, "currency": str,
    "totalAmount": int, "payAmount": int, "refundAmount": int, "payStatus": int,
    "shipmentStatus": int, "payChannelName": str | None, "shipmentTime": str | None,
    "cardNumber": str | None, "phone": str | None, "tradeStartTime": str, "payEndTime": str | None,
    "payEndDate": str,
})


class Order(OrderFields):
    """An element of an order list's `records`."""

    detailVOList: list[LineItem]


# A line of an order, under `detailVOList` and `detailList` alike. Names are as of the sale.
LineItem = TypedDict("LineItem", {
    "goodsId": str, "goodsName": str, "aisleCode": str, "count": int, "goodsPrice": int,
    "salePrice": int, "payAmount": int, "shipmentStatus": int, "shipmentErrCode": int,
    "shipmentFailDesc": str | None,
})

# Body of Order detail; at least one of the two must be non-empty.
OrderDetailRequest = TypedDict("OrderDetailRequest", {
    "tradeNoOut": str | None, "tradeNoIn": str | None,
}, total=False)


class OrderDetail(OrderFields):
    """`data` of Order detail."""

    detailList: list[LineItem]
    tradeNoOut: str
    shipmentErrorList: list[ShipmentError] | None


# Why a line was not shipped.
ShipmentError = TypedDict("ShipmentError", {
    "goodsId": str, "aisleCode": str, "shipmentErrCode": int, "shipmentFailDesc": str | None,
})

# Body of Order changes.
OrderChangesRequest = TypedDict("OrderChangesRequest", {
    "after": str | None, "size": int | None, "waitSeconds": int | None,
    "includeTotals": bool | None,
}, total=False)

# The fields that every answer of Order changes has.
ChangesFields = TypedDict("ChangesFields", {
    "records": "list[OrderChange]", "next": str, "more": bool,
})


class OrderChanges(ChangesFields, total=False):
    """`data` of Order changes."""

    totals: OrderTotals | None


# The totals of all orders of a group, archived ones included, in the state of the answer.
OrderTotals = TypedDict("OrderTotals", {
    "changeNo": int, "orders": int, "sales": "list[SalesTotals]",
})

# The totals of the orders of a currency that are paid, refunding or refunded.
SalesTotals = TypedDict("SalesTotals", {
    "currency": str, "orders": int, "payAmount": int, "refundAmount": int,
})

# An order at its latest change.
OrderChange = TypedDict("OrderChange", {"changeNo": int, "order": "Order"})

# Body of every dashboard function but online devices; every field may be left out.
DashboardFilter = TypedDict("DashboardFilter", {
    "startTimestamp": int | None, "endTimestamp": int | None, "groupId": str | None,
    "deviceCodes": list[str],
}, total=False)

# `data` of the summary.
Summary = TypedDict("Summary", {
    "startTimestamp": int, "endTimestamp": int, "timeZone": str, "currency": str,
    "kpiList": "list[Kpi]", "unconvertedOrders": int,
})

# One figure of the summary.
Kpi = TypedDict("Kpi", {"code": str, "name": str, "value": str, "type": str})

# The sales of one product.
ProductSales = TypedDict("ProductSales", {
    "goodsId": str, "goodsName": str, "price": "Dollars | None", "defaultPrice": "Dollars | None",
    "averagePrice": "Dollars | None", "salesCount": int, "salesAmount": Dollars, "deviceCount": int,
})


class BestSellingProduct(ProductSales):
    """`data` of the best-selling product: the first of the ranking, and the ranking."""

    rankList: list[ProductSales]


# An element of sales by device.
DeviceSales = TypedDict("DeviceSales", {
    "deviceCode": str, "deviceName": str, "orderCount": int, "salesCount": int,
    "salesAmount": Dollars,
})

# A day of the sales trend.
TrendDay = TypedDict("TrendDay", {"label": str, "amount": Dollars, "orderCount": int})

# A device of the aisle hierarchy.
DeviceAisles = TypedDict("DeviceAisles", {
    "deviceCode": str, "deviceName": str, "cabinets": "list[Cabinet]",
})

# A cabinet of a device.
Cabinet = TypedDict("Cabinet", {"cabinetCode": str, "layers": "list[Layer]"})

# A layer of a cabinet.
Layer = TypedDict("Layer", {"layer": int, "aisles": "list[Aisle]"})

# An aisle. Its prices are integers in minor units of the product's currency, not dollars.
Aisle = TypedDict("Aisle", {
    "code": str, "showName": str, "price": int, "showPrice": int, "currency": str, "maxStock": int,
    "currStock": int, "isEnable": int, "isBroken": int, "goodsId": str, "goodsName": str,
})

# `data` of the device profile.
DeviceProfile = TypedDict("DeviceProfile", {"list": "list[Device]"})

# `data` of online devices.
OnlineDevices = TypedDict("OnlineDevices", {
    "totalCount": int, "onlineCount": int, "offlineCount": int, "list": "list[OnlineDevice]",
})

# An element of online devices.
OnlineDevice = TypedDict("OnlineDevice", {
    "deviceCode": str, "deviceName": str, "isOnline": int, "lastActiveTimestamp": int | None,
})
