//! HTTPS to one server of the interface: requests and answers are unchanged. There is no session,
//! and no call is repeated.

mod base_url;
mod connection;
mod trust;

pub use base_url::{BaseUrl, BaseUrlError};
pub use connection::{ClientError, HttpsClient};
pub use trust::{TlsConfig, TrustError, trust, trust_pem};
