//! HTTPS to one server of the interface: requests and answers are unchanged. There is no session,
//! and no call is repeated. The files that clients need for it are read up to a limit.

mod base_url;
mod bounded;
mod connection;
mod trust;

pub use base_url::{BaseUrl, BaseUrlError, without_user_info};
pub use bounded::{read_bounded, read_file, read_text_file, read_text_file_up_to};
pub use connection::{ClientError, HttpsClient};
pub use trust::{TlsConfig, TrustError, trust, trust_pem};
