//! The console's pages: HTML that is rendered from plain values.
//!
//! A page is one file with a view, which is a plain struct, and a function `page` that renders it
//! in a [`Frame`]. It is independent of HTTP, store and clock: the server reads the data, fills the
//! view and sends the text. To add a page:
//!
//! 1. A variant of [`Section`] with its path, its right and its name, if the navigation has it.
//! 2. A file with its view and its `page`, made of `components` and, for figures over time, of
//!    `chart`.
//! 3. Its texts, in both languages, in a `texts!` of that file, listed in `text.rs`; `words.rs` has
//!    the texts of several pages.
//!
//! Pages have neither inline styles nor inline scripts ([`assets::POLICY`]), work without the
//! script, and mark with `data-live` and an `id` the elements that the script replaces.

pub mod api;
pub mod assets;
pub mod audit;
mod chart;
mod components;
mod csv;
pub mod device;
pub mod devices;
mod format;
pub mod forward;
mod frame;
pub mod groups;
pub mod intake;
pub mod integrators;
pub mod keys;
pub mod message;
pub mod order;
pub mod orders;
pub mod overview;
pub mod period;
pub mod refill;
pub mod refused;
pub mod search;
pub mod service;
pub mod sign_in;
pub mod sort;
mod text;
mod trail;
mod words;

pub use frame::{ACCOUNT_PATH, Frame, SEARCH_PATH, Section, Theme};
