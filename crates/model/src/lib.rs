//! The domain model: identifiers, orders, money, time, sessions, permission scopes, refusals and
//! limits. Nothing here does I/O, reads a clock, contains SQL or renders JSON.
//!
//! # Glossary
//!
//! - **Group**: the tenant. Each device belongs to one group at a time; each query sees one group.
//! - **Account**: a login of an integrator, with access to one or more groups. It has at most one
//!   session, which selects one of them.
//! - **Scope**: the group that a request may see, obtained from a live session.
//! - **Device**, **aisle**, **product**: a kiosk, a slot of it, and the article sold from the slot.
//! - **Order**, **line**: a purchase at a device, and one product of it. A **sale** is an order
//!   that was paid.
//! - **Minor unit**: the smallest unit of a currency. All amounts are integers of minor units.
//! - **Rate**: the price of a currency unit in US dollars, from a date on.
//! - **Source**: the address that a request comes from.
//! - **Refusal**: the answer to an integrator's request that is well-formed but cannot be granted.
//!   A **violation** is one invalid field of a refused request. A **rejection** concerns an input
//!   order or heartbeat that cannot be stored; the rest of the input is stored.
//! - A type named `…ViolationKind` says why a text or a field is invalid.
//! - **Audit trail**: the append-only list of logins and of changes by the operator.

pub mod audit;
pub mod change;
pub mod console;
pub mod day;
pub mod device_state;
pub mod failure_buckets;
pub mod fleet;
pub mod ids;
pub mod intake;
pub mod limits;
pub mod mask;
pub mod money;
pub mod need;
pub mod operator;
pub mod order;
pub mod page;
pub mod refusal;
pub mod sales;
mod secret;
pub mod session;
pub mod setting;
pub mod shares;
pub mod source;
pub mod text;
pub mod time;
pub mod usage;

pub use audit::{ActedBy, Origin};
pub use change::{ChangeCursor, HistoryId};
pub use console::{ConsoleDigest, ConsoleSecret};
pub use day::{DAY_MS, Day};
pub use device_state::DeviceState;
pub use ids::{
    AccountNo, DeviceCode, DeviceNo, GroupId, GroupNo, KeyName, LoginName, OrderId, TradeNo,
};
pub use limits::Limits;
pub use money::{Currency, Minor};
pub use need::Need;
pub use operator::{KeyDigest, KeyEntry, OperatorKey, Right, Rights};
pub use page::PageRequest;
pub use refusal::{Refusal, RefusalKind, Violation};
pub use session::{Claim, PresentedToken, Scope, Session, SessionRow, Token, TokenDigest};
pub use source::{Source, SourcePrefix, TrustedProxies};
pub use text::{
    at_position, controls_terminal, counted, grouped, orders_of_devices, shortened, size,
};
pub use time::{Instants, UnixMs, Zone};
