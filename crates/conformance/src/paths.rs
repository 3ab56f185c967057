//! The paths of the calls, below `/v8/` (ADDR-1).

use kiosque_contract::Endpoint;
use kiosque_contract::endpoint as calls;

pub(crate) const LOGIN: &str = calls::LogIn::PATH;
pub(crate) const SWITCH: &str = calls::SwitchGroup::PATH;
pub(crate) const LOGOUT: &str = calls::LogOut::PATH;
pub(crate) const DEVICES: &str = calls::DevicePage::PATH;
pub(crate) const ORDERS: &str = calls::QueryOrderList::PATH;
pub(crate) const DETAIL: &str = calls::OrderDetail::PATH;
pub(crate) const SUMMARY: &str = calls::Summary::PATH;
pub(crate) const BEST: &str = calls::BestSellingProduct::PATH;
pub(crate) const BY_DEVICE: &str = calls::SalesByDevice::PATH;
pub(crate) const TREND: &str = calls::SalesTrend::PATH;
pub(crate) const AISLES: &str = calls::DeviceAisle::PATH;
pub(crate) const PROFILE: &str = calls::DeviceProfile::PATH;
pub(crate) const ONLINE: &str = calls::OnlineDevices::PATH;
