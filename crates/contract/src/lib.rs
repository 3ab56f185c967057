//! The types of the interface (`docs/interface.md`) and of the operator's calls as JSON, for the
//! server and for clients alike. No rules, and no input or output; the names are those of the JSON.

mod audit;
mod dashboard;
mod device;
mod envelope;
mod operator;
mod order;
mod page;
mod session;

pub use audit::{AuditEntry, AuditPage, ReplacedSession};
pub use dashboard::{
    Aisle, BestSellingProduct, Cabinet, DashboardFilter, DeviceAisles, DeviceProfile, DeviceSales,
    Kpi, Layer, OnlineDevice, OnlineDevices, ProductSales, Summary, TrendDay,
};
pub use device::{DeviceFilter, DeviceRecord};
pub use envelope::{Code, Envelope};
pub use operator::{
    ActivityReceived, Applied, FleetApplied, OrdersReceived, RejectedHeartbeat, RejectedOrder,
};
pub use order::{
    LineItem, OrderDetail, OrderDetailRequest, OrderFilter, OrderHead, OrderRecord, ShipmentError,
};
pub use page::Page;
pub use session::{LoginRequest, SessionData, SwitchGroupRequest, SwitchableGroup};

/// The header that carries the access token, raw, with no `Bearer` before it.
pub const TOKEN_HEADER: &str = "third-api-token";
/// The header that chooses the language of `msg`.
pub const LOCALE_HEADER: &str = "x-locale";
/// The header of every answer that names its request, here and in the log.
pub const REQUEST_ID_HEADER: &str = "x-request-id";
/// The gateway's path prefix; it stands exactly once before every path.
pub const GATEWAY_PREFIX: &str = "/v8";
/// The content type of every answer.
pub const CONTENT_TYPE: &str = "application/json; charset=UTF-8";
