//! Walks over the orders of a device that neither lose nor repeat an order while orders arrive.
//!
//! Orders are listed by arrival, the latest first (ORD-3), so page numbers shift while orders
//! arrive (PAGE-8). Ordinals, counted from the oldest order, do not: in one answer, row *i* of page
//! *k* has the ordinal `total - (k - 1) * size - i`. A walk reads from ordinal 1 upwards, computes
//! the ordinals of each page from that answer's own `total`, and repeats the request if the page
//! does not continue where the last one ended. If an ordinal has another order than on the previous
//! page, the server does not list by arrival.

mod joiner;

use std::collections::VecDeque;
use std::iter;

use futures_util::stream::{Stream, try_unfold};
use kiosque_contract::endpoint::QueryOrderList;
use kiosque_contract::{Endpoint, OrderFilter};
use kiosque_model::UnixMs;
use sha2::{Digest, Sha256};

use super::{GroupClient, PageOf, bytes};
use crate::error::Error;
use crate::order::Order;
use joiner::Joiner;

/// Orders of a page.
const SIZE: u64 = 500;

/// Whether archived orders are read (ORD-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// They are read. Archiving during the walk changes nothing.
    Included,
    /// They are not. A walk fails if orders are archived meanwhile.
    Excluded,
}

/// A walk over the orders of a device, the oldest first. It ends when it has read all existing
/// orders, including those that arrived during the walk.
///
/// ```no_run
/// use futures_util::TryStreamExt;
/// # use kiosque_client::{Error, GroupClient};
///
/// # async fn example(north: GroupClient) -> Result<(), Error> {
/// let mut walk = north.orders("K-001");
/// {
///     let mut orders = std::pin::pin!(walk.stream());
///     while let Some(order) = orders.try_next().await? {
///         println!("{}", order.id());
///     }
/// }
/// let certificate = walk.certificate().expect("the walk has ended");
/// println!("{} orders, digest {}", certificate.count, certificate.sha256);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct OrderWalk {
    group: GroupClient,
    filter: OrderFilter,
    joiner: Joiner,
    ready: VecDeque<(u64, Order)>,
    digest: Sha256,
    after: u64,
    certificate: Option<Certificate>,
}

/// The proof of a completed walk: two sides that have the same orders have the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Certificate {
    /// The device.
    pub device: String,
    /// The ordinal before the first order of the walk: 0 for a walk over all orders.
    pub after: u64,
    /// The number of orders.
    pub count: u64,
    /// The SHA-256 digest, in hexadecimal, of one line per order in ascending order: its ordinal, a
    /// space, its `orderId` and a line feed.
    pub sha256: String,
}

impl OrderWalk {
    pub(super) fn new(group: GroupClient, device: &str) -> OrderWalk {
        let mut filter = OrderFilter::new(device.to_owned());
        filter.include_history = Some(true);
        OrderWalk {
            group,
            filter,
            joiner: Joiner::new(device, SIZE),
            ready: VecDeque::new(),
            digest: Sha256::new(),
            after: 0,
            certificate: None,
        }
    }

    /// Sets whether archived orders are read; the default is to read them.
    #[must_use]
    pub fn history(mut self, history: History) -> OrderWalk {
        self.filter.include_history = Some(history == History::Included);
        self
    }

    /// Only reads orders whose trade started at this time or later. An addition of Kiosque (ORD-1);
    /// other servers may ignore it.
    #[must_use]
    pub fn since(mut self, time: UnixMs) -> OrderWalk {
        self.filter.start_timestamp = Some(time.0);
        self
    }

    /// Only reads orders whose trade started before this time; see [`OrderWalk::since`].
    #[must_use]
    pub fn until(mut self, time: UnixMs) -> OrderWalk {
        self.filter.end_timestamp = Some(time.0);
        self
    }

    /// Begins after this ordinal: an earlier walk, with the same filters, has read the orders up to
    /// it.
    #[must_use]
    pub fn after(mut self, ordinal: u64) -> OrderWalk {
        self.after = ordinal;
        self.joiner.read_to = ordinal;
        self
    }

    /// Sets the `orderId` of the order with the ordinal of [`OrderWalk::after`]. The walk fails if
    /// the first page has another order in its place.
    #[must_use]
    pub fn after_id(mut self, id: &str) -> OrderWalk {
        self.joiner = self.joiner.after_id(id);
        self
    }

    /// Reads pages of at most this many orders, and at least 2; by default 500.
    #[must_use]
    pub fn page_size(mut self, size: u64) -> OrderWalk {
        self.joiner.size_max = size.max(2);
        self
    }

    /// Returns the next order; `None` at the end.
    ///
    /// # Errors
    /// See [`Error`]. [`Error::Walk`] if the list changed other than by growing. A walk never
    /// appears complete when it is not.
    pub async fn next(&mut self) -> Result<Option<Order>, Error> {
        self.read_page().await?;
        Ok(self.take_ready())
    }

    /// Returns the orders of the next page that has any; `None` at the end. Nothing is sent for
    /// orders that were already received.
    ///
    /// # Errors
    /// As [`OrderWalk::next`].
    pub async fn next_page(&mut self) -> Result<Option<Vec<Order>>, Error> {
        self.read_page().await?;
        let orders: Vec<Order> = iter::from_fn(|| self.take_ready()).collect();
        Ok((!orders.is_empty()).then_some(orders))
    }

    /// Reads pages until there is an order to return, or the end is reached.
    async fn read_page(&mut self) -> Result<(), Error> {
        while self.ready.is_empty() && !self.joiner.is_complete() {
            let page = self.page().await?;
            self.ready.extend(self.joiner.join(page).map_err(Error::Walk)?);
        }
        if self.ready.is_empty() {
            self.certify();
        }
        Ok(())
    }

    fn take_ready(&mut self) -> Option<Order> {
        let (ordinal, order) = self.ready.pop_front()?;
        self.digest.update(format!("{ordinal} {}\n", order.id()));
        Some(order)
    }

    /// Returns the orders as a stream. After its end the walk has a certificate.
    pub fn stream(&mut self) -> impl Stream<Item = Result<Order, Error>> + '_ {
        try_unfold(self, async |walk| Ok(walk.next().await?.map(|order| (order, walk))))
    }

    /// Returns the proof of the walk, once it has ended.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    /// Returns the ordinal of the last order that was read.
    pub fn last_ordinal(&self) -> u64 {
        self.ready.front().map_or(self.joiner.read_to, |(next, _)| next - 1)
    }

    async fn page(&mut self) -> Result<PageOf<Order>, Error> {
        let account = self.group.account();
        loop {
            self.joiner.size_max = account.page_size(self.joiner.size_max);
            let (current, size) = self.joiner.next_page();
            let path = format!("{}?current={current}&size={size}", QueryOrderList::PATH);
            match self.group.read(path, bytes(&self.filter)?).await {
                Err(error) if account.is_page_too_large(size, &error) => {}
                page => return page,
            }
        }
    }

    fn certify(&mut self) {
        if self.certificate.is_some() {
            return;
        }
        let digest = self.digest.clone().finalize();
        let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let (device, after) = (self.filter.device_code.clone(), self.after);
        let count = self.joiner.read_to - after;
        self.certificate = Some(Certificate { device, after, count, sha256 });
    }
}
