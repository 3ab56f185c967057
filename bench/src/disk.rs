//! The number of bytes that an order takes on disk, with all its indexes and sums.

use crate::kiosque::Kiosque;
use crate::measure;
use crate::options::Size;
use crate::report::{Aim, Row};
use crate::spread::Spread;

/// Bytes that an order should take at most.
const AIM: Aim = Aim::AtMost(450.0);

/// Returns the row of the data file, when everything has ended and its log has been checkpointed.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn row(kiosque: &Kiosque, size: &Size) -> anyhow::Result<Row> {
    let bytes = kiosque.data_bytes()?;
    let each = measure::count(usize::try_from(bytes / size.orders)?);
    let row = Row::about("bytes an order on disk", Spread::of([each]), " bytes", Some(AIM));
    Ok(row.noted(format!("{bytes} bytes of data file, with every index and sum")))
}
