//! A client of the device and order query service, for any server that implements the interface of
//! `docs/interface.md`.
//!
//! - **One session for all callers.** An account has one session with one selected group; workers
//!   that each log in end each other's sessions. Clones of an [`Account`] share one: each call runs
//!   in its group, and the session is renewed before it ends or when another user has replaced it.
//!   See [`session`].
//! - **Lists without gaps.** A walk over the orders of a device ([`OrderWalk`]) neither loses nor
//!   repeats an order while orders arrive, and ends with a [`Certificate`] or with an error.
//! - **Amounts and times that cannot be misread**: [`Money`] has a currency and no `+`,
//!   [`WallTime`] has no zone and is not an instant.
//! - **Retries** of calls that read, when the server fails or no answer arrives: at most three,
//!   with random waits, and in total no more than a fifth of the calls. A refusal is never
//!   repeated.
//!
//! ```no_run
//! use kiosque_client::{Account, Error, Profile};
//!
//! # async fn example() -> Result<(), Error> {
//! let profile = Profile::new("https://kiosque.example.com/v8", "acme", "secret")?;
//! let account = Account::open(profile)?;
//! let north = account.group("north")?;
//! let mut orders = north.orders("K-001");
//! while let Some(order) = orders.next().await? {
//!     println!("{} {:?}", order.id(), order.total());
//! }
//! # Ok(())
//! # }
//! ```

mod account;
mod answer;
mod error;
mod exchange;
mod http;
mod jitter;
mod money;
mod order;
mod password;
mod printable;
mod profile;
mod retry;
#[cfg(test)]
mod scripted;
pub mod session;
mod transport;
mod wall_time;

/// The program of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use kiosque_contract as contract;
pub use kiosque_https_client::{BaseUrl, BaseUrlError, read_bounded, read_file, read_text_file};
pub use kiosque_model::money::MoneyError;
pub use kiosque_model::{Currency, Instants, UnixMs, Zone};

pub use account::{
    Account, Certificate, Change, Device, GroupClient, History, OrderChanges, OrderWalk, Position,
};
pub use error::{Error, NotAnEnvelope, Refusal, WalkError};
pub use exchange::{Exchange, Observer};
pub use money::{Money, NoSum};
pub use order::Order;
pub use password::Password;
pub use profile::Profile;
pub use transport::{Answer, Request, Token, Transport, TransportError};
pub use wall_time::WallTime;
