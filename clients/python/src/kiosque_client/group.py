"""The calls of an account that run in one group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from .changes import Changes
from .dashboard import Dashboard
from .errors import InvalidRequest, ListChanged, WrongGroup
from .types import Device, DeviceFilter, DevicePage, Order, OrderDetail, OrderDetailRequest
from .types import OrderFilter, OrderPage
from .walk import OrderWalk

if TYPE_CHECKING:
    from .account import Account

BUSINESS = "third-center-web/openapi/v1"
DEVICES = 500
LIST_TRIES = 5


class Group(Dashboard):
    """A group of an account. Its calls are sent while it is selected."""

    def __init__(self, account: Account, group_id: str, name: str = "") -> None:
        self._account, self.id, self.name = account, group_id, name

    def __repr__(self) -> str:
        return f"Group({self.id!r})"

    def devices(self, filters: DeviceFilter | None = None) -> list[Device]:
        """Returns the devices of the group that match the filters, each once. A list that changes
        while it is read is read again."""
        for _ in range(LIST_TRIES):
            devices = self._devices_once(filters or {})
            if devices is not None:
                return devices
        raise ListChanged(f"the devices of {self.id!r} changed whenever they were read")

    def orders(self, device: str | None = None, history: bool = True) -> Iterator[Order]:
        """Returns the orders of a device, the oldest first by arrival; without a device, the orders
        of each device that the group has now. `history` includes archived orders."""
        codes = [entry["deviceCode"] for entry in self.devices()] if device is None else [device]
        for code in codes:
            yield from self.walk(code, history=history)

    def walk(
        self,
        device: str,
        *,
        history: bool = True,
        start_timestamp: int | None = None,
        end_timestamp: int | None = None,
        after: int = 0,
        after_id: str | None = None,
        size: int = 500,
    ) -> OrderWalk:
        """Returns a walk over the orders of a device, after the `last_ordinal` of an earlier one
        with the same filters. With its `last_id`, the walk fails if that order has another place
        in the list now. The timestamps are described in ORD-6."""
        body: OrderFilter = {"deviceCode": device, "includeHistory": history,
                             "startTimestamp": start_timestamp, "endTimestamp": end_timestamp}

        def read(current: int, size: int) -> OrderPage:
            path = f"kioskOrder/queryOrderList?current={current}&size={size}"
            try:
                return cast(OrderPage, self._call(path, body))
            except InvalidRequest as error:
                # Later walks begin with the size that this one finds.
                self._account.is_page_too_large(size, error)
                raise

        return OrderWalk(device, read, self._account.page_size(size), after, after_id)

    def order(self, trade_no: str | None = None, *, internal_no: str | None = None) -> OrderDetail:
        """Returns an order by its `tradeNo`, or by its `tradeNoIn`, which names one order."""
        body: OrderDetailRequest = {"tradeNoOut": trade_no, "tradeNoIn": internal_no}
        return cast(OrderDetail, self._call("kioskOrder/orderDetail", body))

    def changes(self, cursor: str | None = None, follow: bool = True, size: int = 500) -> Changes:
        """Returns the changes of orders after a cursor, or all. With `follow` it waits for further
        ones, and ends otherwise. An addition of Kiosque (ORD-23)."""
        return Changes(self._account, self.id, cursor, follow, size)

    def _call(self, path: str, body: object) -> Any:
        return self._account.call(self.id, f"{BUSINESS}/{path}", body)

    def _devices_once(self, filters: DeviceFilter) -> list[Device] | None:
        """Returns `None` if the list changed between two pages."""
        devices: dict[str, Device] = {}
        total, current = None, 1
        wanted = filters.get("groupId") or self.id
        while True:
            size = self._account.page_size(DEVICES)
            path = f"kioskDevice/devicePage?current={current}&size={size}"
            try:
                page = cast(DevicePage, self._call(path, filters))
            except InvalidRequest as error:
                if not self._account.is_page_too_large(size, error):
                    raise
                continue
            if total not in (None, page["total"]):
                return None
            total = page["total"]
            for device in page["records"]:
                if device.get("groupId", wanted) != wanted:
                    raise WrongGroup(wanted, device["groupId"])
                devices[device["deviceCode"]] = device
            if not page["records"] or current * page["size"] >= total:
                return list(devices.values()) if len(devices) == total else None
            current += 1
