//! The tables that a dry run on a database server does not write.

use crate::db::TemporaryTables;

/// Every table that the commands with a dry run change.
pub(crate) static TABLES: TemporaryTables = TemporaryTables {
    // As large as the fleet, or the rates.
    copied: &[
        "counters",
        "groups",
        "accounts",
        "account_groups",
        "sessions",
        "products",
        "devices",
        "aisles",
        "aisle_texts",
        "device_owners",
        "ledger",
        "group_changes",
        "goods_names",
        "rates",
    ],
    // Sums, bounds, entries and histories, which no dry run depends on.
    empty: &[
        "group_histories",
        "sales_by_day",
        "sales_by_device",
        "order_blocks",
        "audit",
        "arrivals",
    ],
    overlaid: &[("orders", &["group_no", "device_no", "seq"])],
};
