//! A client of HTTP/1.1 over TLS for one server of the interface: requests as they are, answers as
//! they come. It knows no session and repeats no call; for those who test servers and clients.

mod base_url;
mod connection;
mod trust;

pub use base_url::{BaseUrl, BaseUrlError};
pub use connection::{ClientError, HttpsClient};
pub use trust::{TrustError, trust, trust_pem};
