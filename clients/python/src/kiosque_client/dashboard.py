"""The dashboard functions, as in the OpenAPI document, which this file is made from."""

from __future__ import annotations

from typing import Any, cast

from .types import BestSellingProduct
from .types import DashboardFilter
from .types import DeviceAisles
from .types import DeviceProfile
from .types import DeviceSales
from .types import OnlineDevices
from .types import Summary
from .types import TrendDay


class Dashboard:
    """The dashboard functions of a group."""

    def _call(self, path: str, body: object) -> Any:
        raise NotImplementedError

    def summary(self, filters: DashboardFilter | None = None) -> Summary:
        """Returns the KPIs of a range, by default of this month until now; money in US dollars."""
        data = self._call("kioskDashboard/summary", filters or {})
        return cast("Summary", data)

    def best_selling_product(
        self, filters: DashboardFilter | None = None
    ) -> BestSellingProduct | None:
        """Returns the best-selling product and the ranking; null without sales."""
        data = self._call("kioskDashboard/bestSellingProduct", filters or {})
        return cast("BestSellingProduct | None", data)

    def sales_by_device(self, filters: DashboardFilter | None = None) -> list[DeviceSales]:
        """Returns the sales of each device, the largest amount first."""
        data = self._call("kioskDashboard/salesByDevice", filters or {})
        return cast("list[DeviceSales]", data)

    def sales_trend(self, filters: DashboardFilter | None = None) -> list[TrendDay]:
        """Returns the sales of each day; days without sales have zeros."""
        data = self._call("kioskDashboard/salesTrend", filters or {})
        return cast("list[TrendDay]", data)

    def device_aisle(self, filters: DashboardFilter | None = None) -> list[DeviceAisles]:
        """Returns devices, their cabinets, layers and aisles; prices in minor units."""
        data = self._call("kioskDashboard/deviceAisle", filters or {})
        return cast("list[DeviceAisles]", data)

    def device_profile(self, filters: DashboardFilter | None = None) -> DeviceProfile:
        """Returns every device of the group."""
        data = self._call("kioskDashboard/deviceProfile", filters or {})
        return cast("DeviceProfile", data)

    def online_devices(self) -> OnlineDevices:
        """Returns each device's online state; takes no body."""
        data = self._call("kioskDashboard/onlineDevices", None)
        return cast("OnlineDevices", data)
