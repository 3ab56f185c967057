//! Limits the connections of each source, so that no source takes all of a listener's.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{Source, SourcePrefix, TrustedProxies};
use tokio::sync::Notify;

/// What happens to a further connection of a source that has the maximum number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It is closed.
    Refused,
    /// It replaces the oldest one that was not [kept](KeptConnection): the callers on one machine
    /// have one source, whichever loopback address they use, and those that prove nothing must not
    /// keep the others out. It is closed if all are kept.
    ReplacesOldest,
}

/// The open connections of a listener by source, up to a limit for each.
#[derive(Clone, Debug)]
pub(crate) struct SourceLimits {
    max: usize,
    when_full: WhenFull,
    /// Sources without connections have no entry.
    open: Arc<Mutex<HashMap<SourcePrefix, OfSource>>>,
}

/// The open connections of a source.
#[derive(Debug, Default)]
struct OfSource {
    count: usize,
    /// The number of the next connection.
    next: u64,
    /// The replaceable connections, by number.
    replaceable: BTreeMap<u64, Arc<Notify>>,
}

/// A connection that counts for its source until it is dropped.
#[derive(Debug)]
pub(crate) struct SourceConnection {
    limits: SourceLimits,
    /// `None` for a trusted proxy, which is not limited.
    prefix: Option<SourcePrefix>,
    number: u64,
    /// Notified when another connection replaces this one; `None` if none does.
    replaced: Option<Arc<Notify>>,
}

/// Keeps the connection of a request: no further one of its source replaces it. It is an extension
/// of each request to a listener that replaces connections.
#[derive(Clone, Debug)]
pub struct KeptConnection(Arc<SourceConnection>);

impl KeptConnection {
    /// Keeps the connection.
    pub fn keep(&self) {
        self.0.with_source(|of_source| of_source.replaceable.remove(&self.0.number));
    }
}

impl SourceLimits {
    pub(crate) fn new(max: usize, when_full: WhenFull) -> SourceLimits {
        SourceLimits { max, when_full, open: Arc::default() }
    }

    /// Counts a connection; `None` if its source has the maximum number, and none of them may be
    /// replaced.
    pub(crate) fn connect(
        &self,
        peer: IpAddr,
        proxies: &TrustedProxies,
    ) -> Option<Arc<SourceConnection>> {
        let source = Source::of(peer);
        let limits = self.clone();
        let mut number = 0;
        let mut replaced = None;
        if proxies.trusts(source) {
            return Some(Arc::new(SourceConnection { limits, prefix: None, number, replaced }));
        }
        let prefix = match self.when_full {
            WhenFull::Refused => source.prefix(),
            WhenFull::ReplacesOldest => source.prefix_with_one_loopback(),
        };
        let mut open = lock_ignoring_poison(&self.open);
        let of_source = open.entry(prefix).or_default();
        if of_source.count >= self.max {
            let (_, oldest) = of_source.replaceable.pop_first()?;
            oldest.notify_one();
        }
        of_source.count += 1;
        if self.when_full == WhenFull::ReplacesOldest {
            let notify = Arc::new(Notify::new());
            number = of_source.next;
            of_source.next += 1;
            of_source.replaceable.insert(number, Arc::clone(&notify));
            replaced = Some(notify);
        }
        Some(Arc::new(SourceConnection { limits, prefix: Some(prefix), number, replaced }))
    }
}

impl SourceConnection {
    /// Returns a handle that keeps the connection, if it may be replaced.
    pub(crate) fn kept(self: &Arc<Self>) -> Option<KeptConnection> {
        self.replaced.is_some().then(|| KeptConnection(Arc::clone(self)))
    }

    /// Runs the connection until it ends or is replaced.
    pub(crate) async fn run(&self, connection: impl Future<Output = ()>) {
        match &self.replaced {
            None => connection.await,
            Some(replaced) => tokio::select! {
                () = connection => {}
                () = replaced.notified() => {}
            },
        }
    }

    fn with_source<T>(&self, change: impl FnOnce(&mut OfSource) -> Option<T>) -> Option<T> {
        let mut open = lock_ignoring_poison(&self.limits.open);
        change(open.get_mut(&self.prefix?)?)
    }
}

impl Drop for SourceConnection {
    fn drop(&mut self) {
        let Some(prefix) = self.prefix else { return };
        let mut open = lock_ignoring_poison(&self.limits.open);
        if let Entry::Occupied(mut of_source) = open.entry(prefix) {
            of_source.get_mut().replaceable.remove(&self.number);
            of_source.get_mut().count -= 1;
            if of_source.get().count == 0 {
                of_source.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_an_address_or_a_prefix() {
        let limits = SourceLimits::new(2, WhenFull::Refused);
        let connect = |peer: &str| {
            limits.connect(peer.parse().expect("an address"), &TrustedProxies::default())
        };
        let (one, two) = (connect("192.0.2.1"), connect("::ffff:192.0.2.1"));
        assert!(one.is_some() && two.is_some() && connect("192.0.2.1").is_none());
        let customer = (connect("2001:db8::1"), connect("2001:db8::2:1"));
        assert!(customer.0.is_some() && customer.1.is_some());
        assert!(connect("2001:db8::3").is_none() && connect("2001:db8:0:1::1").is_some());
        drop(two);
        assert!(connect("192.0.2.1").is_some());
        let third = connect("192.0.2.1");
        assert!(third.is_some() && connect("192.0.2.1").is_none());
        drop(third);
        let proxies = TrustedProxies::parse(["192.0.2.0/24"]).expect("a range");
        let proxy = "192.0.2.1".parse().expect("an address");
        assert!(limits.connect(proxy, &proxies).is_some(), "a trusted proxy has no limit");
        drop((one, customer));
        assert!(lock_ignoring_poison(&limits.open).is_empty());
    }
    /// A caller that proves nothing cannot keep others on its machine out, and replaces no kept
    /// connection.
    #[tokio::test]
    async fn the_oldest_connection_that_is_not_kept_is_replaced() {
        let limits = SourceLimits::new(3, WhenFull::ReplacesOldest);
        let connect = |peer: &str| {
            limits.connect(peer.parse().expect("an address"), &TrustedProxies::default())
        };
        let [first, second, third] = ["127.0.0.1", "::1", "127.9.0.1"].map(connect);
        first.as_ref().and_then(SourceConnection::kept).expect("a handle").keep();
        let fourth = connect("127.0.0.1").expect("the second makes room");
        second.expect("it was counted").run(std::future::pending()).await;
        let other = connect("192.0.2.1").expect("another source");
        third.as_ref().and_then(SourceConnection::kept).expect("a handle").keep();
        fourth.kept().expect("a handle").keep();
        assert!(connect("127.0.0.1").is_none(), "all are kept");
        drop(third);
        let fifth = connect("127.0.0.1");
        assert!(fifth.is_some());
        drop((first, fourth, other, fifth));
        assert!(lock_ignoring_poison(&limits.open).is_empty());
    }
}
