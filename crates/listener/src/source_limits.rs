//! Limits the connections of each source, so that no source takes all of a listener's.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use kiosque_locks::lock_ignoring_poison;
use kiosque_model::{Source, SourcePrefix, TrustedProxies};

/// The open connections of a listener by source, up to a limit for each.
#[derive(Clone, Debug)]
pub(crate) struct SourceLimits {
    max: usize,
    /// Sources without connections have no entry.
    open: Arc<Mutex<HashMap<SourcePrefix, usize>>>,
}

/// A connection that counts for its source until it is dropped.
#[derive(Debug)]
pub(crate) struct SourceConnection {
    limits: SourceLimits,
    /// `None` for a trusted proxy, which is not limited.
    prefix: Option<SourcePrefix>,
}

impl SourceLimits {
    pub(crate) fn new(max: usize) -> SourceLimits {
        SourceLimits { max, open: Arc::default() }
    }

    /// Counts a connection; `None` if its source has as many as it may have.
    pub(crate) fn connect(
        &self,
        peer: IpAddr,
        proxies: &TrustedProxies,
    ) -> Option<SourceConnection> {
        let source = Source::of(peer);
        let prefix = (!proxies.trusts(source)).then(|| source.prefix());
        if let Some(prefix) = prefix {
            let mut open = lock_ignoring_poison(&self.open);
            let count = open.entry(prefix).or_default();
            if *count >= self.max {
                return None;
            }
            *count += 1;
        }
        Some(SourceConnection { limits: self.clone(), prefix })
    }
}

impl Drop for SourceConnection {
    fn drop(&mut self) {
        let Some(prefix) = self.prefix else { return };
        if let Entry::Occupied(mut count) = lock_ignoring_poison(&self.limits.open).entry(prefix) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_an_address_or_a_prefix() {
        let limits = SourceLimits::new(2);
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
}
