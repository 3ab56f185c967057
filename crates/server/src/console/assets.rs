//! The style sheet, the script and the icon.

use http::{HeaderValue, StatusCode, header};
use kiosque_console::assets::Asset;

use super::reply::{Refused, Reply};

/// A name changes with its content, so that browsers never ask again.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// Returns the file of a name.
pub(super) fn file(name: &str) -> Result<Reply, Refused> {
    let asset = Asset::named(name).ok_or(Refused::NotFound)?;
    let reply = Reply::new(StatusCode::OK, asset.content_type, asset.text.as_bytes());
    Ok(reply.with(header::CACHE_CONTROL, HeaderValue::from_static(FOREVER)))
}
