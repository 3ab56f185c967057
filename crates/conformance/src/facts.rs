//! What is known about a server and its data.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::ask::{Ask, Caller};
use crate::credentials::Credentials;
use crate::paths::{DEVICES, LOGIN, LOGOUT, ORDERS, SWITCH};

/// A group, a device, a trade number, a password and a token that do not exist on any platform.
pub(crate) const UNKNOWN: &str = "no-such-kiosque-check";

/// The query of a page of orders, with the default size of every server.
pub(crate) const ORDERS_QUERY: &str = "size=10";

pub(crate) const DAY_MS: i64 = 86_400_000;

/// What is known about a server and its data.
#[derive(Clone, Default)]
pub(crate) struct Facts {
    pub(crate) account: Credentials,
    pub(crate) caller: Caller,
    /// The time when the check began.
    pub(crate) now_ms: i64,
    /// `data` of the last login or switch.
    pub(crate) session: Value,
    pub(crate) token: String,
    /// The previous token, which is no longer valid.
    pub(crate) earlier_token: String,
    /// The group that a login selects.
    pub(crate) default_group: String,
    /// The devices of the default group.
    pub(crate) devices: Vec<Value>,
    /// The query of the page with them. The contract does not specify the maximum size.
    pub(crate) devices_query: &'static str,
    /// Their total number; `devices` has a page of them.
    pub(crate) device_count: usize,
    /// A device with orders, and the first of these orders.
    pub(crate) device: Option<String>,
    pub(crate) orders: Vec<Value>,
    /// Another group than the default one, and the devices that are listed for it.
    pub(crate) other_group: Option<String>,
    pub(crate) other_devices: Vec<Value>,
    /// The total of that list, of which `other_devices` is the first page.
    pub(crate) other_device_count: usize,
    /// A device of the other group that the default group does not list and, unless all have
    /// moved from it, never had (SCOPE-6).
    pub(crate) other_device: Option<String>,
    /// The second account, with the data that the first one cannot see: the default group, its
    /// devices, and orders of one of them.
    pub(crate) second: Option<Box<Facts>>,
    /// The answer before the last one, of the same rule.
    pub(crate) before: Option<Answer>,
}

impl Facts {
    /// Returns a login of the account.
    pub(crate) fn log_in(&self) -> Ask {
        Ask::log_in(&self.account.username, &self.account.password).by(self.caller)
    }

    /// Returns a login with a wrong password.
    pub(crate) fn log_in_wrongly(&self) -> Ask {
        Ask::log_in(&self.account.username, UNKNOWN).by(self.caller)
    }

    /// Returns a login with a name that does not exist on any platform. It differs between checks,
    /// since servers limit failed logins.
    pub(crate) fn log_in_unknown(&self) -> Ask {
        Ask::log_in(&format!("{UNKNOWN}-{}", self.now_ms), UNKNOWN)
    }

    /// Returns a call with the token and any body.
    pub(crate) fn call(&self, path: &str, body: &str) -> Ask {
        Ask::post(path).by(self.caller).token(&self.token).body(body)
    }

    /// Returns a call of List devices with the token.
    pub(crate) fn list_devices(&self) -> Ask {
        self.call(DEVICES, "{}")
    }

    /// Returns a call with the token and a body of JSON.
    pub(crate) fn call_with(&self, path: &str, body: &Value) -> Ask {
        self.call(path, &body.to_string())
    }

    /// Returns a call with the token and a range, in milliseconds.
    pub(crate) fn call_in(&self, path: &str, start: i64, end: i64) -> Ask {
        self.call_with(path, &json!({"startTimestamp": start, "endTimestamp": end}))
    }

    /// Returns a time a number of days before the check began, in milliseconds.
    pub(crate) fn days_ago(&self, days: i64) -> i64 {
        self.now_ms - days * DAY_MS
    }

    /// Returns the day in UTC when the check began, as a `kiosque_model::Day` counts them.
    pub(crate) fn today(&self) -> i64 {
        self.now_ms.div_euclid(DAY_MS)
    }

    /// Returns a switch to a group.
    pub(crate) fn switch(&self, group: &str) -> Ask {
        self.call_with(SWITCH, &json!({"groupId": group}))
    }

    /// Returns a call of List orders for the current orders of a device.
    pub(crate) fn list_orders(&self, device: &str) -> Ask {
        self.call_with(ORDERS, &json!({"deviceCode": device}))
    }

    /// Returns a call of List orders for all orders of a device.
    pub(crate) fn list_all_orders(&self, device: &str) -> Ask {
        self.call_with(ORDERS, &json!({"deviceCode": device, "includeHistory": true}))
    }

    /// Returns the list of the orders of the device with orders.
    pub(crate) fn orders_of_device(&self, query: &str) -> Option<Ask> {
        Some(self.list_all_orders(self.device.as_ref()?).query(query))
    }

    /// Returns the trade number of an order.
    pub(crate) fn trade_number(&self) -> Option<&str> {
        let mut numbers = self.orders.iter().filter_map(|order| order["tradeNo"].as_str());
        numbers.find(|number| !number.is_empty())
    }

    /// Whether the selected group has a device.
    pub(crate) fn has_device(&self, code: &str) -> bool {
        self.devices.iter().any(|device| device["deviceCode"] == code)
    }

    /// Whether a record is one of the devices of the default group.
    pub(crate) fn is_own(&self, record: &Value) -> bool {
        record["deviceCode"].as_str().is_some_and(|code| self.has_device(code))
    }

    /// Whether a record is one of the devices that are listed for the other group.
    pub(crate) fn is_other(&self, record: &Value) -> bool {
        self.other_devices.iter().any(|other| other["deviceCode"] == record["deviceCode"])
    }

    /// Returns the group that the session has selected.
    pub(crate) fn group(&self) -> &str {
        self.session["groupId"].as_str().unwrap_or_default()
    }

    /// Records the token of a login or a switch, and its end by a log out.
    pub(crate) fn learn(&mut self, ask: &Ask, answer: &Answer) {
        if let Some(second) = self.second.as_mut().filter(|second| second.caller == ask.caller) {
            return second.learn(ask, answer);
        }
        if answer.success().is_err() {
            return;
        }
        match ask.path() {
            LOGIN | SWITCH => {
                let token = answer.token().to_owned();
                self.earlier_token = std::mem::replace(&mut self.token, token);
                self.session = answer.data().clone();
            }
            LOGOUT => {
                self.earlier_token = std::mem::take(&mut self.token);
                self.session = Value::Null;
            }
            _ => {}
        }
    }
}

/// Returns the ids of the groups that a session can select.
pub(crate) fn groups_of(session: &Value) -> impl Iterator<Item = &str> {
    let groups = session["switchableGroups"].as_array().map(Vec::as_slice).unwrap_or_default();
    groups.iter().filter_map(|group| group["groupId"].as_str())
}
