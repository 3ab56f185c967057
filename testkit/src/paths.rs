//! The paths of calls: those of integrators without the prefix `/v8/`.

use kiosque_contract::{ENDPOINTS, Endpoint, EndpointInfo, endpoint};

/// Login.
pub const TOKEN_PATH: &str = endpoint::LogIn::PATH;
/// Change of the session's group.
pub const SWITCH_PATH: &str = endpoint::SwitchGroup::PATH;
/// Logout.
pub const LOGOUT_PATH: &str = endpoint::LogOut::PATH;
/// A page of devices.
pub const DEVICES_PATH: &str = endpoint::DevicePage::PATH;
/// A page of a device's orders.
pub const ORDERS_PATH: &str = endpoint::QueryOrderList::PATH;
/// One order.
pub const DETAIL_PATH: &str = endpoint::OrderDetail::PATH;
/// Orders by their latest change.
pub const CHANGES_PATH: &str = endpoint::OrderChanges::PATH;
/// The key figures of a range of days.
pub const SUMMARY_PATH: &str = endpoint::Summary::PATH;
/// Sales by day.
pub const TREND_PATH: &str = endpoint::SalesTrend::PATH;
/// Sales by product.
pub const BEST_PATH: &str = endpoint::BestSellingProduct::PATH;
/// Sales by device.
pub const BY_DEVICE_PATH: &str = endpoint::SalesByDevice::PATH;
/// The aisles of one device.
pub const AISLE_PATH: &str = endpoint::DeviceAisle::PATH;
/// One device.
pub const PROFILE_PATH: &str = endpoint::DeviceProfile::PATH;
/// The number of devices that are online.
pub const ONLINE_PATH: &str = endpoint::OnlineDevices::PATH;

/// The operator's call that receives orders: the whole path.
pub const ORDERS_CALL: &str = "/operator/v1/orders";

/// Returns the dashboard functions that take filters.
pub fn dashboards() -> impl Iterator<Item = &'static EndpointInfo> {
    ENDPOINTS.iter().filter(|one| one.tag == "Dashboard" && one.request.is_some())
}

/// Returns the paths of [`dashboards`].
pub fn dashboard_paths() -> impl Iterator<Item = &'static str> {
    dashboards().map(|one| one.path)
}
