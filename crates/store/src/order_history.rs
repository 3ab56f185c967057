//! Which orders of a device a list has.

/// Whether archived orders are listed, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum History {
    /// Current orders only.
    Left,
    /// Also archived historical orders.
    Included,
}
