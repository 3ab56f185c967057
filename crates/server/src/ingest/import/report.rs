//! CSV reports: rows become orders through a mapping, and then go the way of every other order.
