//! The types of the interface (`docs/interface.md`) and of the operator's calls as JSON, for the
//! server and for clients. No logic, and no input or output; the names are the ones in the JSON.
//!
//! Without the feature `literals`, structs of the interface to which later versions may add fields
//! are `#[non_exhaustive]`: a filter is its `Default` with some fields set. Kiosque itself, whose
//! crates have one version, has the feature and builds answers by struct literals.

/// The text of [`GATEWAY_PREFIX`], for `concat!`.
macro_rules! gateway_prefix {
    () => {
        "/v8"
    };
}

mod audit;
mod change;
mod dashboard;
mod device;
pub mod endpoint;
mod envelope;
mod example;
mod fleet;
pub mod inventory;
mod operator;
pub mod operator_call;
mod order;
mod page;
mod problem;
mod request;
mod schema;
mod session;
mod stream;

pub use audit::{
    AuditDetails, AuditEntry, AuditFilter, AuditPage, ChangedEntry, ImportedGroup, ReplacedSession,
};
pub use change::{
    ChangesFilter, OrderChange, OrderChangeLine, OrderChanges, OrderChangesRequest, OrderTotals,
    SalesTotals,
};
pub use dashboard::*;
pub use device::{DeviceFilter, DeviceRecord};
pub use endpoint::{ENDPOINTS, Endpoint, EndpointInfo, TokenRule};
pub use envelope::{Code, Envelope};
pub use example::Example;
pub use fleet::{FleetAccount, FleetAisle, FleetDevice, FleetFile, FleetGroup, FleetProduct};
pub use operator::{
    ActivityReceived, ChangeCounts, DatedMove, FailedOrder, FleetApplied, FleetCounts,
    OrdersFailed, OrdersReceived, RejectedHeartbeat, RejectedOrder,
};
pub use operator_call::{OPERATOR_CALLS, OperatorCall, OperatorCallInfo};
pub use order::{
    LineItem, OrderDetail, OrderDetailRequest, OrderFilter, OrderHead, OrderRecord, ShipmentError,
};
pub use page::Page;
pub use problem::{PROBLEM_CONTENT_TYPE, Problem};
pub use request::{NoBody, Request, RequestBody, ZeroOrOne};
pub use session::{LoginRequest, SessionData, SwitchGroupRequest, SwitchableGroup};
pub use stream::{HeartbeatLine, Object, OrderLine, OrderLineItem};

/// The header that carries the access token, raw, with no `Bearer` before it.
pub const TOKEN_HEADER: &str = "third-api-token";
/// The header that selects the language of `msg`.
pub const LOCALE_HEADER: &str = "x-locale";
/// The header of every answer that identifies its request, here and in the log.
pub const REQUEST_ID_HEADER: &str = "x-request-id";
/// The header that lists the fields and query keys of a request that its call does not know.
pub const IGNORED_HEADER: &str = "kiosque-ignored";
/// The header that says where the token belongs, when a request has none that can be read.
pub const HINT_HEADER: &str = "kiosque-hint";
/// The gateway's path prefix; every path has it exactly once.
pub const GATEWAY_PREFIX: &str = gateway_prefix!();
/// The content type of every answer.
pub const CONTENT_TYPE: &str = "application/json; charset=UTF-8";
