"""Follows the changes of the orders of a group."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from .errors import InvalidRequest
from .types import OrderChange, OrderChanges, OrderChangesRequest

if TYPE_CHECKING:
    from .account import Account

CHANGES = "third-center-web/openapi/v1/kioskOrder/changes"
# Calls of other groups wait as long as a request for changes waits.
WAIT_SECONDS = 1
PAUSE = 1.0


@dataclass(frozen=True)
class ChangePage:
    """Changes, and the cursor behind the last of them. Store both in one transaction."""

    records: list[OrderChange]
    cursor: str


class Changes:
    """The changes of the orders of a group: each order at its latest change, with its content.

    `cursor` is behind the last page whose records were all returned. A program that begins with it
    again may receive changes of one page twice, and misses none. One thread at a time may iterate.
    """

    def __init__(
        self, account: Account, group: str, cursor: str | None, follow: bool, size: int
    ) -> None:
        self.cursor = cursor
        self._account, self._group = account, group
        self._follow, self._size = follow, size
        self._is_stopped = threading.Event()

    def stop(self) -> None:
        """Ends the iteration after the present request; any thread may call it."""
        self._is_stopped.set()

    def __iter__(self) -> Iterator[OrderChange]:
        for page in self.pages():
            yield from page.records

    def pages(self) -> Iterator[ChangePage]:
        """Returns the changes as the pages in which they are received."""
        cursor = self.cursor
        while not self._is_stopped.is_set():
            is_awaited = self._account.is_awaited(self._group)
            wait = WAIT_SECONDS if self._follow and not is_awaited else 0
            size = self._account.page_size(self._size)
            body: OrderChangesRequest = {"after": cursor, "size": size, "waitSeconds": wait}
            try:
                read = self._account.call(self._group, CHANGES, body, wait)
            except InvalidRequest as error:
                if not self._account.is_page_too_large(size, error):
                    raise
                continue
            answer = cast(OrderChanges, read)
            cursor = answer["next"]
            if answer["records"] or not (self._follow or answer["more"]):
                yield ChangePage(answer["records"], cursor)
            self.cursor = cursor
            if not self._follow and not answer["more"]:
                return
            if self._follow and not wait and not answer["records"]:
                # Another group has the session meanwhile.
                self._account.pause(PAUSE)
