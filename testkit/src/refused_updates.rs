//! Updates of an order that fail in the database.

use crate::{TestData, sql};

impl TestData {
    /// Makes the store fail on every update of an order.
    pub fn refuse_updates(&self, order: &str) {
        let refuse = sql(match self {
            TestData::Directory(_) => "refuse_updates_sqlite",
            TestData::Postgres(_) => "refuse_updates_postgres",
        });
        self.execute(&refuse.replace("ORDER", order));
    }

    /// Undoes [`TestData::refuse_updates`].
    pub fn take_updates(&self) {
        self.execute(match self {
            TestData::Directory(_) => "drop trigger refuse",
            TestData::Postgres(_) => {
                "set citus.enable_unsafe_triggers = on; drop trigger refuse on orders"
            }
        });
    }
}
