//! The paths of the integrators' calls, without the prefix `/v8/`.

/// Login.
pub const TOKEN_PATH: &str = "platform-auth/auth/third-api/token";
/// Change of the session's group.
pub const SWITCH_PATH: &str = "platform-auth/auth/third-api/switchGroup";
/// Logout.
pub const LOGOUT_PATH: &str = "platform-auth/auth/third-api/logout";
/// A page of devices.
pub const DEVICES_PATH: &str = "third-center-web/openapi/v1/kioskDevice/devicePage";
/// A page of a device's orders.
pub const ORDERS_PATH: &str = "third-center-web/openapi/v1/kioskOrder/queryOrderList";
/// One order.
pub const DETAIL_PATH: &str = "third-center-web/openapi/v1/kioskOrder/orderDetail";
/// The key figures of a range of days.
pub const SUMMARY_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/summary";
/// Sales by day.
pub const TREND_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/salesTrend";
/// Sales by product.
pub const BEST_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/bestSellingProduct";
/// Sales by device.
pub const BY_DEVICE_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/salesByDevice";
/// The aisles of one device.
pub const AISLE_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/deviceAisle";
/// One device.
pub const PROFILE_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/deviceProfile";
/// The number of devices that are online.
pub const ONLINE_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/onlineDevices";
/// The dashboard functions that take filters.
pub const DASHBOARD_PATHS: [&str; 6] =
    [SUMMARY_PATH, BEST_PATH, BY_DEVICE_PATH, TREND_PATH, AISLE_PATH, PROFILE_PATH];
