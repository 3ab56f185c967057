//! Examines the data of a server before its rules are checked.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::checker::{CannotRun, Checker};
use crate::facts::{ORDERS_QUERY, groups_of};
use crate::paths::DEVICES;

/// Maximum groups whose devices are looked up.
const GROUPS_TRIED: usize = 20;
/// Maximum devices whose orders are looked up.
const DEVICES_TRIED: usize = 20;

impl Checker {
    /// Logs the accounts in, and finds what each can see.
    pub(crate) async fn survey(&mut self) -> Result<(), CannotRun> {
        // First, so that a server whose logins end all sessions keeps the session for the other
        // rules.
        self.survey_second().await?;
        self.log_in().await?;
        if let Some(second) = &mut self.facts.second
            && groups_of(&self.facts.session).any(|own| own == second.default_group)
        {
            second.default_group.clear();
            second.devices.clear();
            second.orders.clear();
        }
        self.survey_devices().await?;
        self.facts.default_group = self.facts.group().to_owned();
        self.survey_other_group().await?;
        self.survey_other_device().await
    }

    /// Finds another group of the account, with devices if there is one.
    async fn survey_other_group(&mut self) -> Result<(), CannotRun> {
        let others = groups_of(&self.facts.session).filter(|id| *id != self.facts.group());
        let others: Vec<String> = others.take(GROUPS_TRIED).map(str::to_owned).collect();
        for group in others {
            let (devices, count) = self.devices_of(&group).await?;
            if self.facts.other_group.is_none() || !devices.is_empty() {
                self.facts.other_group = Some(group);
                self.facts.other_device_count = count;
                self.facts.other_devices = devices;
            }
            if !self.facts.other_devices.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the first devices of a group, as many as are tried if it has them, and the number of
    /// all.
    async fn devices_of(&mut self, group: &str) -> Result<(Vec<Value>, usize), CannotRun> {
        let (mut devices, mut count) = (Vec::new(), 0);
        for current in 1..=DEVICES_TRIED {
            let query = format!("current={current}&{}", self.facts.devices_query);
            let page = self.facts.call_with(DEVICES, &json!({"groupId": group}));
            let page = self.send(&page.query(query.trim_end_matches('&'))).await?;
            let of_page = page.listed("records");
            count = total(&page).max(count);
            devices.extend(of_page.iter().cloned());
            if of_page.is_empty() || devices.len() >= count.min(DEVICES_TRIED) {
                break;
            }
        }
        Ok((devices, count))
    }

    /// Finds a device that the other group has, and the selected one never had: a device that has
    /// left a group remains in its scope.
    async fn survey_other_device(&mut self) -> Result<(), CannotRun> {
        let codes = self.facts.other_devices.iter().filter_map(|it| it["deviceCode"].as_str());
        let codes = codes.filter(|code| !self.facts.has_device(code)).map(str::to_owned);
        for code in codes.take(DEVICES_TRIED).collect::<Vec<String>>() {
            let page = self.send(&self.facts.list_orders(&code)).await?;
            let is_refused = page.outcome(200, -1).is_ok();
            if is_refused || self.facts.other_device.is_none() {
                self.facts.other_device = Some(code);
            }
            if is_refused {
                break;
            }
        }
        Ok(())
    }

    /// Finds the devices of the selected group, and one with orders.
    async fn survey_devices(&mut self) -> Result<(), CannotRun> {
        let mut page = None;
        // The largest page may be smaller than the default.
        for query in ["size=1000", "size=10", ""] {
            let answer = self.send(&self.facts.list_devices().query(query)).await?;
            self.facts.devices_query = query;
            let is_page = answer.success().is_ok();
            page = Some(answer);
            if is_page {
                break;
            }
        }
        let Some(page) = page else { return Ok(()) };
        self.facts.devices = page.listed("records");
        self.facts.device_count = total(&page);
        for device in self.facts.devices.clone().iter().take(DEVICES_TRIED) {
            let code = device["deviceCode"].as_str().unwrap_or_default();
            let page = self.facts.list_all_orders(code).query(ORDERS_QUERY);
            let orders = self.send(&page).await?.listed("records");
            if orders.len() > self.facts.orders.len() {
                self.facts.device = Some(code.to_owned());
                self.facts.orders = orders;
            }
            if self.facts.orders.len() >= 10 {
                break;
            }
        }
        Ok(())
    }

    /// Logs the second account in, and finds the devices of its default group, and orders with a
    /// trade number.
    async fn survey_second(&mut self) -> Result<(), CannotRun> {
        self.log_in_second().await?;
        let Some(mut second) = self.facts.second.take() else { return Ok(()) };
        second.default_group = second.group().to_owned();
        second.devices = self.send(&second.call(DEVICES, "{}")).await?.listed("records");
        let codes = second.devices.iter().filter_map(|device| device["deviceCode"].as_str());
        for code in codes {
            second.orders = self.send(&second.list_all_orders(code)).await?.listed("records");
            if second.trade_number().is_some() {
                break;
            }
        }
        self.facts.second = Some(second);
        Ok(())
    }
}

/// Returns the total of a list; a page without one is the whole list.
fn total(page: &Answer) -> usize {
    let total = page.data()["total"].as_u64().and_then(|total| usize::try_from(total).ok());
    total.unwrap_or_else(|| page.listed("records").len())
}
