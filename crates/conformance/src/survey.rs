//! Looks at the data of a server before its rules are checked.

use serde_json::json;

use crate::checker::{CannotRun, Checker};
use crate::paths::{DEVICES, ORDERS};

/// Devices whose orders are looked for.
const DEVICES_TRIED: usize = 20;

impl Checker {
    /// Logs in, and finds devices, a device with orders, and another group.
    pub(crate) async fn survey(&mut self) -> Result<(), CannotRun> {
        self.log_in().await?;
        let page = self.send(&self.facts.call(DEVICES, "{}").query("size=1000")).await?;
        self.facts.devices = page.listed("records");
        let total = page.data()["total"].as_u64().and_then(|total| usize::try_from(total).ok());
        self.facts.device_count = total.unwrap_or(self.facts.devices.len());
        for device in self.facts.devices.clone().iter().take(DEVICES_TRIED) {
            let code = device["deviceCode"].as_str().unwrap_or_default();
            let body = json!({"deviceCode": code, "includeHistory": true});
            let page = self.send(&self.facts.call_with(ORDERS, &body).query("size=20")).await?;
            let orders = page.listed("records");
            if orders.len() > self.facts.orders.len() {
                self.facts.order_count = page.data()["total"].as_i64().unwrap_or_default();
                self.facts.device = Some(code.to_owned());
                self.facts.orders = orders;
            }
            if self.facts.orders.len() >= 20 {
                break;
            }
        }
        let groups = self.facts.session["switchableGroups"].as_array().map(Vec::as_slice);
        let ids = groups.unwrap_or_default().iter().filter_map(|group| group["groupId"].as_str());
        let selected = self.facts.group().to_owned();
        self.facts.other_group = ids.map(str::to_owned).find(|id| *id != selected);
        if let Some(group) = &self.facts.other_group {
            let page = self.facts.call_with(DEVICES, &json!({"groupId": group}));
            self.facts.other_devices = self.send(&page).await?.listed("records");
        }
        Ok(())
    }
}
