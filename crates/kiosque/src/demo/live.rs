//! The kiosks of a demo while it serves: most send heartbeats, and some of them orders.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::time::Duration;

use kiosque_clock::Clock;
use kiosque_ingest::import::{ImportObserver, Progress, import_orders};
use kiosque_ingest::rejected::Rejected;
use kiosque_model::order::Order;
use kiosque_model::time::{UnixMs, Zone};
use kiosque_store::{Heartbeat, Store};

use super::kiosks::{Kiosk, kiosks};
use super::random::Random;
use super::trade::{self, Sale};

/// Interval between two new orders.
pub(super) const ORDER_INTERVAL: Duration = Duration::from_secs(4);
/// Longest interval between two heartbeats of a kiosk.
const HEARTBEAT_INTERVAL_MAX: Duration = Duration::from_secs(30);
/// How long an order is sent again, with the payment and the shipment that happened meanwhile.
const FOLLOWED_MS: i64 = 120_000;
/// Set in the keys of these orders, and in none of the orders that a demo begins with.
const LIVE: u64 = 1 << 63;
/// The number within its day of each of these orders; kiosks of the demo sell less in a day.
const LIVE_NTH: u16 = 9_999;

/// Sends heartbeats and orders. A kiosk stays online in a window of `online_window`.
pub(super) async fn run(store: &Store, online_window: Duration) -> Infallible {
    let mut kiosks = kiosks();
    kiosks.retain(Kiosk::is_online);
    let interval = (online_window / 2).clamp(Duration::from_secs(1), HEARTBEAT_INTERVAL_MAX);
    let (never, _) = tokio::join!(send_heartbeats(store, &kiosks, interval), sell(store, &kiosks));
    never
}

async fn send_heartbeats(store: &Store, kiosks: &[Kiosk], interval: Duration) -> Infallible {
    loop {
        let at = Clock::System.now();
        let of = |kiosk: &Kiosk| Heartbeat { device_code: kiosk.code.clone(), at };
        if let Err(error) = store.record_heartbeats(kiosks.iter().map(of).collect()).await {
            tracing::warn!(cause = %error, "heartbeats of the demo could not be recorded");
        }
        tokio::time::sleep(interval).await;
    }
}

async fn sell(store: &Store, kiosks: &[Kiosk]) -> Infallible {
    let mut followed = VecDeque::new();
    loop {
        let now = Clock::System.now();
        followed.extend(LiveSale::new(kiosks, now));
        followed.retain(|sale: &LiveSale<'_>| now.0 - sale.start.0 <= FOLLOWED_MS);
        let orders = followed.iter().map(|sale| sale.order(store.zone(), now)).collect();
        if let Err(error) = import_orders(store, &Clock::System, orders, &mut Sold).await {
            tracing::warn!(cause = %error, "an order of the demo could not be stored");
        }
        tokio::time::sleep(ORDER_INTERVAL).await;
    }
}

/// A sale that takes place while the demo serves.
struct LiveSale<'k> {
    kiosk: &'k Kiosk,
    key: u64,
    start: UnixMs,
}

impl<'k> LiveSale<'k> {
    /// Returns a sale at one of the kiosks, which depends on the time alone.
    fn new(kiosks: &'k [Kiosk], start: UnixMs) -> Option<LiveSale<'k>> {
        let key = LIVE | start.0.unsigned_abs();
        let place = Random::keyed(!key).weighted(kiosks.iter().map(|kiosk| kiosk.location.busy));
        Some(LiveSale { kiosk: kiosks.get(place)?, key, start })
    }

    /// Returns the order as far as it has come `now`.
    fn order(&self, zone: &Zone, now: UnixMs) -> Order {
        let LiveSale { kiosk, key, start } = *self;
        let hour = u32::from(zone.civil(start).hour().unsigned_abs());
        let sale = Sale { kiosk, key, nth: LIVE_NTH, hour, start, until: now };
        trade::order(&sale, zone, &mut Random::keyed(key))
    }
}

/// The observer of an import whose orders are all valid.
struct Sold;

impl ImportObserver for Sold {
    fn rejected(&mut self, rejected: &Rejected) -> std::io::Result<()> {
        Err(std::io::Error::other(rejected.reason.clone()))
    }

    fn progress(&mut self, _: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use kiosque_model::order::PayStatus;

    use super::*;

    const START: UnixMs = UnixMs(1_795_176_000_000);

    #[test]
    fn thirty_five_of_forty_kiosks_are_online() {
        let online = |kiosk: &&Kiosk| kiosk.is_online();
        assert_eq!((kiosks().len(), kiosks().iter().filter(online).count()), (40, 35));
    }

    /// An order is created unpaid, and followed until it is paid and shipped.
    #[test]
    fn a_sale_proceeds_with_time() {
        let (kiosks, zone) = (kiosks(), Zone::utc());
        let (mut ids, mut paid) = (HashSet::new(), 0);
        for at in 0..1_000 {
            let start = START.plus_ms(at * 4_000);
            let sale = LiveSale::new(&kiosks, start).unwrap();
            let (first, last) =
                (sale.order(&zone, start), sale.order(&zone, start.plus_ms(FOLLOWED_MS)));
            assert_eq!((first.pay_status, first.trade_start), (PayStatus::Unpaid, start));
            assert_eq!((&first.order_id, first.total_amount), (&last.order_id, last.total_amount));
            assert_eq!(first.device_code, last.device_code);
            assert!(!first.lines.is_empty() && first.total_amount.0 > 0);
            paid += usize::from(last.pay_end.is_some());
            assert!(ids.insert(last.order_id.to_string()));
        }
        assert!(paid > 900, "{paid}");
        let made = super::super::orders::orders(&zone, zone.civil(START).date(), UnixMs::MAX);
        assert!(made.iter().all(|order| !ids.contains(&order.order_id.to_string())));
    }
}
