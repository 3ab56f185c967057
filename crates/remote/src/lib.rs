//! The calls of integrators for people at a terminal, over `kiosque-client`: profiles of accounts,
//! one session that all commands of a profile share, the answers as rows of lists, and a copy of
//! the orders in a file.

mod calls;
mod cells;
mod changes;
mod error;
mod files;
mod listing;
pub mod lists;
mod mirror;
mod orders;
mod password;
mod places;
mod profile;
mod refusal;
mod remote;
mod reports;
mod resolve;
mod session_file;
mod span;
mod variables;

pub use calls::{Groups, TradeNumber, call, devices, groups, order, who};
pub use cells::Display;
pub use changes::ChangeReader;
pub use error::CommandError;
pub use listing::{Layout, Listing, Part};
pub use lists::{Column, Kind, List};
pub use mirror::{Mirror, MirroredGroup};
pub use orders::{DeviceChoice, DeviceEnd, OrderPage, OrderQuery, OrderReader};
pub use password::{PasswordSource, one_line};
pub use places::Places;
pub use profile::{Fields, Given, Profiles};
pub use remote::{Remote, Turn};
pub use reports::{Report, report};
pub use resolve::Resolved;
pub use span::TimeText;
pub use variables::{VARIABLES, variables};
