//! The kiosks of a demo while it serves: most send heartbeats, and some of them orders.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use kiosque_clock::Clock;
use kiosque_model::KeyName;
use kiosque_model::order::Order;
use kiosque_model::time::{UnixMs, Zone};
use kiosque_server::App;
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

/// Sends heartbeats, and orders as streams with the key. A kiosk stays online in a window of
/// `online_window`.
pub(super) async fn run(
    (app, key): (&App, &KeyName),
    store: &Store,
    online_window: Duration,
) -> Infallible {
    let mut kiosks = kiosks();
    kiosks.retain(Kiosk::is_online);
    let interval = (online_window / 2).clamp(Duration::from_secs(1), HEARTBEAT_INTERVAL_MAX);
    let selling = sell((app, key), store.zone(), &kiosks);
    let (never, _) = tokio::join!(send_heartbeats(store, &kiosks, interval), selling);
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

async fn sell((app, key): (&App, &KeyName), zone: &Zone, kiosks: &[Kiosk]) -> Infallible {
    let mut followed = VecDeque::new();
    loop {
        let now = Clock::System.now();
        followed.extend(LiveSale::new(kiosks, now));
        followed.retain(|sale: &LiveSale<'_>| now.0 - sale.start.0 <= FOLLOWED_MS);
        let orders = followed.iter_mut().filter_map(|sale| sale.changed(zone, now)).collect();
        if let Err(error) = app.receive_orders(key.clone(), orders).await {
            tracing::warn!(cause = %error, "an order of the demo could not be stored");
            followed.iter_mut().for_each(|sale| sale.sent = None);
        }
        tokio::time::sleep(ORDER_INTERVAL).await;
    }
}

/// A sale that takes place while the demo serves.
struct LiveSale<'k> {
    kiosk: &'k Kiosk,
    key: u64,
    start: UnixMs,
    /// The order as it was last sent.
    sent: Option<Order>,
}

impl<'k> LiveSale<'k> {
    /// Returns a sale at one of the kiosks, which depends on the time alone.
    fn new(kiosks: &'k [Kiosk], start: UnixMs) -> Option<LiveSale<'k>> {
        let key = LIVE | start.0.unsigned_abs();
        let place = Random::keyed(!key).weighted(kiosks.iter().map(|kiosk| kiosk.location.busy));
        Some(LiveSale { kiosk: kiosks.get(place)?, key, start, sent: None })
    }

    /// Returns the order to send `now`; `None` if it is as it was sent.
    fn changed(&mut self, zone: &Zone, now: UnixMs) -> Option<Order> {
        let order = self.order(zone, now);
        let is_new = self.sent.as_ref() != Some(&order);
        is_new.then(|| self.sent.insert(order).clone())
    }

    /// Returns the order as far as it has come `now`.
    fn order(&self, zone: &Zone, now: UnixMs) -> Order {
        let LiveSale { kiosk, key, start, .. } = *self;
        let hour = u32::from(zone.civil(start).hour().unsigned_abs());
        let sale = Sale { kiosk, key, nth: LIVE_NTH, hour, start, until: now };
        trade::order(&sale, zone, &mut Random::keyed(key))
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
