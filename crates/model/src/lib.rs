//! What is true on the platform: who may see what, what an order is, what money and time are, and
//! how a request can be refused. Nothing here waits, reads a clock, speaks SQL or renders JSON.

pub mod audit;
pub mod day;
pub mod fleet;
pub mod ids;
pub mod limits;
pub mod mask;
pub mod money;
pub mod operator;
pub mod order;
pub mod page;
pub mod refusal;
pub mod sales;
pub mod scope;
pub mod session;
pub mod setting;
pub mod source;
pub mod time;

pub use audit::{ActedBy, Origin};
pub use day::Day;
pub use ids::{
    AccountNo, DeviceCode, DeviceNo, GroupId, GroupNo, KeyName, LoginName, OrderId, TradeNo,
};
pub use limits::Limits;
pub use money::{Currency, Minor};
pub use operator::{KeyDigest, OperatorKey, Right, Rights};
pub use page::PageRequest;
pub use refusal::{Refusal, Violation};
pub use scope::Scope;
pub use session::{PresentedToken, Session, SessionRow, Token, TokenDigest};
pub use source::{Place, Source, TrustedProxies};
pub use time::{UnixMs, Zone};
