//! The figures of reports: functions over rows that were read, without SQL.

pub(super) mod days;
pub(super) mod device_sums;
pub(super) mod habits;
pub(super) mod products;
