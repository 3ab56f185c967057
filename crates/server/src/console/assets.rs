//! The style sheet, the script and the icon.

use http::header;
use kiosque_console::assets::Asset;

use super::reply::Reply;
use crate::failure::Failure;

/// A name changes with its content, so browsers need not request it again.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// Returns the file with a name.
pub(super) fn file(name: &str) -> Result<Reply, Failure> {
    let asset = Asset::named(name).ok_or_else(Failure::not_found)?;
    let reply = Reply::new(asset.content_type, asset.text.as_bytes());
    Ok(reply.with(header::CACHE_CONTROL, FOREVER))
}
