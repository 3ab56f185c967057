//! The figures of reports: functions of rows, without SQL.

pub(super) mod days;
pub(super) mod device_sums;
pub(super) mod goods;
pub(super) mod habits;
pub(super) mod products;
