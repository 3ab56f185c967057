//! The calls of each scenario, with a live session.

use std::fmt;

use anyhow::ensure;
use kiosque_contract::endpoint::{self, DevicePage, LogIn, QueryOrderList};
use kiosque_contract::{
    DashboardFilter, Endpoint, LoginRequest, OrderDetailRequest, OrderFilter, OrderRecord, Page,
    SessionData,
};
use kiosque_testkit::Rng;
use serde_json::json;

use crate::client::{Call, Client, Connection};
use crate::fleet;
use crate::load::Workload;
use crate::options::Size;
use crate::orders;

/// Number of orders whose details are requested.
const TRADE_NUMBERS: usize = 20_000;

/// A login of an account of the bench.
///
/// # Errors
/// The body cannot be serialized as JSON.
pub(crate) fn login(name: &str) -> anyhow::Result<Call> {
    let request = LoginRequest { username: name.to_owned(), password: fleet::password(name) };
    Call::new(LogIn::PATH, None, &request)
}

/// Logs in an account, which selects its group; returns the token.
///
/// # Errors
/// When the login is refused, or selects another group.
pub(crate) async fn log_in(
    connection: &mut Connection,
    name: &str,
    group: &str,
) -> anyhow::Result<String> {
    let session: SessionData = connection.ask(&login(name)?).await?;
    ensure!(session.group_id == group, "{name} has selected {}", session.group_id);
    Ok(session.access_token)
}

/// Live sessions: the token of each group's reader.
pub(crate) struct Sessions {
    tokens: Vec<String>,
    size: Size,
    workers: usize,
}

impl Sessions {
    /// Logs in every reader; workloads made from this have `workers` workers.
    ///
    /// # Errors
    /// When a login is refused.
    pub(crate) async fn open(client: &Client, size: &Size, workers: usize) -> anyhow::Result<Self> {
        let mut connection = client.connect().await?;
        let mut tokens = Vec::new();
        for group in 0..size.groups {
            let reader = fleet::reader(group);
            tokens.push(log_in(&mut connection, &reader, &fleet::group_id(group)).await?);
        }
        Ok(Sessions { tokens, size: size.clone(), workers })
    }

    /// Returns the token of a group's reader.
    pub(crate) fn token_of_group(&self, group: usize) -> &str {
        &self.tokens[group]
    }

    fn token_of(&self, device: usize) -> &str {
        self.token_of_group(fleet::group_of(device, &self.size))
    }

    fn workload(
        &self,
        calls: impl Iterator<Item = anyhow::Result<Call>>,
    ) -> anyhow::Result<Workload> {
        Ok(Workload::shared(self.workers, calls.collect::<Result<_, _>>()?))
    }

    /// Page 1 of every device but the big one, each with a session of its group.
    ///
    /// # Errors
    /// When a call cannot travel.
    pub(crate) fn order_pages(&self, history: bool) -> anyhow::Result<Workload> {
        let page = |device| order_page(device, 1, history, self.token_of(device));
        self.workload((1..self.size.devices).map(page))
    }

    /// Pages of all depths of every device but the big one: more than are read twice soon.
    ///
    /// # Errors
    /// When a call cannot travel.
    pub(crate) fn unread_pages(&self) -> anyhow::Result<Workload> {
        let small = self.size.orders - self.size.big_device_orders;
        let pages = small / 10 / u64::try_from(self.size.devices)?;
        let all = (1..self.size.devices).flat_map(|device| (1..=pages).map(move |at| (device, at)));
        self.workload(all.map(|(device, at)| order_page(device, at, false, self.token_of(device))))
    }

    /// One page of the big device, whose session all workers share.
    ///
    /// # Errors
    /// When a call cannot travel.
    pub(crate) fn big_device_page(&self, page: u64) -> anyhow::Result<Workload> {
        self.workload(std::iter::once(order_page(0, page, false, self.token_of(0))))
    }

    /// Every device page of every group.
    ///
    /// # Errors
    /// When a call cannot travel.
    pub(crate) fn device_pages(&self) -> anyhow::Result<Workload> {
        let pages = u64::try_from((self.size.devices / self.size.groups).div_ceil(10))?;
        let all = self.tokens.iter().flat_map(|token| (1..=pages).map(move |page| (token, page)));
        self.workload(all.map(|(token, page)| device_page(page, token)))
    }

    /// The calls of a dashboard function with the filters of each group.
    ///
    /// # Errors
    /// When a call cannot travel.
    pub(crate) fn of_each_group(
        &self,
        path: &str,
        filters: impl Fn(usize) -> Vec<DashboardFilter>,
    ) -> anyhow::Result<Workload> {
        let all = self.tokens.iter().enumerate().flat_map(|(group, token)| {
            filters(group).into_iter().map(move |filter| (token, filter))
        });
        self.workload(all.map(|(token, filter)| Call::new(path, Some(token), &filter)))
    }

    /// Orders with a trade number, from all devices and the whole year.
    ///
    /// # Errors
    /// When a call cannot travel.
    pub(crate) fn details(&self) -> anyhow::Result<Workload> {
        let mut rng = Rng::seeded(self.size.seed);
        let all = i64::try_from(self.size.orders)?;
        let drawn = (0..TRADE_NUMBERS).map(|_| {
            let number = u64::try_from(rng.range(0..all))?;
            let order = orders::order(number, &self.size)?;
            let token = self.token_of(order.device);
            order.line.trade_no.map(|number| detail(number, token)).transpose()
        });
        self.workload(drawn.filter_map(Result::transpose))
    }

    /// Compares two pages of the big device with the imported data. Whether other calls succeed is
    /// checked when they are measured.
    ///
    /// # Errors
    /// An answer is wrong; the error says which.
    pub(crate) async fn try_out(&self, client: &Client) -> anyhow::Result<()> {
        let mut connection = client.connect().await?;
        let token = &self.tokens[0];
        for page in [1, self.size.deep_page()] {
            let big: Page<OrderRecord> =
                connection.ask(&order_page(0, page, false, token)?).await?;
            let expected = i64::try_from(self.size.big_device_orders)?;
            ensure!(
                big.total == expected && big.records.len() == 10,
                "page {page} of the big device: total {}, {} records",
                big.total,
                big.records.len()
            );
        }
        Ok(())
    }

    /// A call that a session which has outlived a restart can make at once.
    ///
    /// # Errors
    /// When it cannot travel.
    pub(crate) fn first_call(&self) -> anyhow::Result<Call> {
        order_page(0, 1, false, &self.tokens[0])
    }
}

/// Returns the path of a page of ten.
pub(crate) fn paged(path: &str, page: impl fmt::Display) -> String {
    format!("{path}?current={page}&size=10")
}

fn order_page(device: usize, page: u64, history: bool, token: &str) -> anyhow::Result<Call> {
    let filter = OrderFilter {
        device_code: fleet::device_code(device),
        include_history: history.then_some(true),
        ..OrderFilter::default()
    };
    Call::new(&paged(QueryOrderList::PATH, page), Some(token), &filter)
}

/// A page of the devices of a session's group.
///
/// # Errors
/// When it cannot travel.
pub(crate) fn device_page(page: impl fmt::Display, token: &str) -> anyhow::Result<Call> {
    Call::new(&paged(DevicePage::PATH, page), Some(token), &json!({}))
}

fn detail(trade_no: String, token: &str) -> anyhow::Result<Call> {
    let request = OrderDetailRequest { trade_no_out: Some(trade_no), trade_no_in: None };
    Call::new(endpoint::OrderDetail::PATH, Some(token), &request)
}
