//! Whether requests are answered and orders stored: for `/readyz`, `/readyz/orders` and their
//! gauges.

use kiosque_contract::OperatorCall;
use kiosque_contract::operator_call::{Readyz, ReadyzOrders};
use kiosque_store::Error;

use crate::app::App;

impl App {
    /// Checks whether the data is still in its place, and whether requests with a session would be
    /// answered and orders stored. Sets the gauges, and logs each change. The program calls it once
    /// a second.
    pub async fn check_readiness(&self) {
        self.store.engine().check_files();
        let answers = self.store.upkeep().answers(self.clock.now()).await;
        match self.readiness_change(Readyz::PATH, &answers) {
            Some(Ok(())) => tracing::info!("requests with a session are answered again"),
            Some(Err(cause)) => tracing::error!(%cause, "requests with a session are not answered"),
            None => {}
        }
        let stores = self.store.upkeep().takes_orders().await;
        match self.readiness_change(ReadyzOrders::PATH, &stores) {
            Some(Ok(())) => tracing::info!("orders are stored again"),
            Some(Err(cause)) => tracing::error!(%cause, "orders cannot be stored"),
            None => {}
        }
    }

    /// Sets the gauge of a path. Returns the outcome of the check if it has changed; a server is
    /// expected to be ready when it starts.
    fn readiness_change<'c>(
        &self,
        path: &'static str,
        checked: &'c Result<(), Error>,
    ) -> Option<Result<(), &'c Error>> {
        let was_ready = self.metrics.set_ready(path, checked);
        (was_ready != checked.is_ok()).then_some(checked.as_ref().copied())
    }
}
