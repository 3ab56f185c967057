"""A walk over the orders of a device, by ordinals.

Orders that arrive move older ones to later pages (PAGE-8), but each keeps its position counted from
the oldest one, its ordinal. The walk reads the list from the oldest order on and joins pages by the
ordinals of their rows, which follow from the numbers of the same answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from .errors import InvalidRequest, ListChanged, SetupError
from .types import Order, OrderPage

SIZE = 500
MISSES_MAX = 100
SUSPECT_MAX = 3


class OrderWalk:
    """The orders of a device, the oldest first, none lost or repeated.

    Raises `ListChanged` if the list changes in another way than by growing.
    """

    def __init__(
        self, device: str, read: Callable[[int, int], OrderPage], size: int = SIZE, after: int = 0,
        after_id: str | None = None,
    ) -> None:
        """`read` returns a page by its number and its size. The walk begins after the order with
        the ordinal `after`, whose id is `after_id` if it is known, which an earlier walk with the
        same filters has read."""
        if after < 0:
            raise SetupError(f"after is {after}; an ordinal is at least 0, before the first order")
        if size < 1:
            raise SetupError(f"size is {size}; a page has at least 1 order")
        self.device = device
        self.last_ordinal, self.last_id = after, after_id
        self._read, self._size, self._read_to = read, size, after
        self._total: int | None = None
        self._growth = 0
        self._last_ids: deque[str] = deque([after_id] if after_id else [], maxlen=size)

    def __iter__(self) -> Iterator[Order]:
        misses = suspects = 0
        while self._total != self._read_to:
            asked = self._next_page()
            try:
                page = self._read(*asked)
            except InvalidRequest as refused:
                if asked[1] == 1 or "size" not in refused.fields:
                    raise
                # The server has a smaller limit for pages, and refuses larger ones (PAGE-4).
                self._size = asked[1] // 2
                continue
            error = self._error(page)
            if error:
                # One answer may be wrong; a list that has changed is wrong each time.
                suspects += 1
                if suspects > SUSPECT_MAX:
                    raise ListChanged(f"{self.device}: {error}")
                continue
            suspects = 0
            if page["size"] < asked[1]:
                # The server has a smaller limit for pages.
                self._size = max(page["size"], 1)
            orders = self._join(page)
            misses = 0 if orders or self._total == self._read_to else misses + 1
            if misses > MISSES_MAX:
                raise ListChanged(f"{self.device}: orders arrive faster than {misses} pages")
            for order in orders:
                self.last_ordinal += 1
                self.last_id = order["orderId"]
                yield order

    def _next_page(self) -> tuple[int, int]:
        """Returns the number and the size of the page to read next. The remaining orders are divided
        into pages of equal size: if all had the largest size, the page with the next order might
        have only the orders that have just arrived. Up to twice as many orders may arrive before
        the answer as arrived before the last one."""
        if self._total is None:
            return 1, self._size
        left = max(self._total + 2 * self._growth - self._read_to, 1)
        pages = -(-left // self._size)
        return pages, -(-left // pages)

    def _error(self, page: OrderPage) -> str | None:
        """Returns what is wrong with a page; `None` if it continues what was read."""
        total, rows = page["total"], page["records"]
        highest = max(total - (page["current"] - 1) * page["size"], 0)
        if total < self._read_to:
            return f"the list has {total} orders, and had {self._read_to}"
        expected = min(highest, page["size"])
        if len(rows) != expected:
            return f"page {page['current']} has {len(rows)} orders instead of {expected}"
        first_known = self._read_to - len(self._last_ids) + 1
        for ordinal, order in zip(range(highest, 0, -1), rows):
            if first_known <= ordinal <= self._read_to:
                was = self._last_ids[ordinal - first_known]
                if was != order["orderId"]:
                    return f"order {ordinal} was {was} and is {order['orderId']}"
        return None

    def _join(self, page: OrderPage) -> list[Order]:
        """Returns the new orders of a page, the oldest first."""
        total, rows = page["total"], page["records"]
        self._growth = 0 if self._total is None else max(total - self._total, 0)
        self._total = total
        highest = max(total - (page["current"] - 1) * page["size"], 0)
        lowest = highest - len(rows) + 1
        if not lowest <= self._read_to + 1 <= highest:
            return []
        new = rows[: highest - self._read_to][::-1]
        self._last_ids.extend(order["orderId"] for order in new)
        self._read_to += len(new)
        return new
