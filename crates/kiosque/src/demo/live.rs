//! The kiosks of a running demo: most send heartbeats, and some of them orders.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use kiosque_clock::millis;
use kiosque_model::KeyName;
use kiosque_model::order::Order;
use kiosque_model::time::{UnixMs, Zone};
use kiosque_server::App;
use kiosque_store::Heartbeat;

use super::kiosks::{Kiosk, kiosks};
use super::random::Random;
use super::trade::{self, Sale};

/// Bounds of the interval between two heartbeats of a kiosk.
const HEARTBEAT_INTERVAL_MIN: Duration = Duration::from_millis(200);
const HEARTBEAT_INTERVAL_MAX: Duration = Duration::from_secs(30);
/// Minimum interval at which orders are stored, all that have started since the last time.
const STORE_INTERVAL_MIN: Duration = Duration::from_millis(20);
/// Maximum sales that are made up for after the demo was suspended.
const SALES_BEHIND_MAX: i64 = 10_000;
/// How long an order is resent, with the payment and the shipment that happened meanwhile.
const FOLLOWED_MS: i64 = 120_000;
/// Set in the keys of these orders, and in none of the initial orders of a demo.
const LIVE: u64 = 1 << 63;
/// The number within its day of each of these orders; kiosks of the demo sell less in a day.
const LIVE_NTH: u16 = 9_999;

/// The kiosks of a running demo.
#[derive(Clone, Copy)]
pub(super) struct Kiosks<'d> {
    pub(super) app: &'d App,
    /// The key with which orders are streamed.
    pub(super) key: &'d KeyName,
    /// When the first new order starts.
    pub(super) start: UnixMs,
    /// Interval between two new orders.
    pub(super) interval: Duration,
}

/// Sends heartbeats and orders.
pub(super) async fn run(demo: Kiosks<'_>) -> Infallible {
    let mut kiosks = kiosks();
    kiosks.retain(Kiosk::is_online);
    let (never, _) = tokio::join!(send_heartbeats(demo.app, &kiosks), sell(demo, &kiosks));
    never
}

async fn send_heartbeats(app: &App, kiosks: &[Kiosk]) -> Infallible {
    let App { store, clock, settings, .. } = app;
    let interval = clock.lasts(settings.online_window / 2);
    let interval = interval.clamp(HEARTBEAT_INTERVAL_MIN, HEARTBEAT_INTERVAL_MAX);
    loop {
        let at = clock.now();
        let of = |kiosk: &Kiosk| Heartbeat { device_code: kiosk.code.clone(), at };
        if let Err(error) = store.intake().record_heartbeats(kiosks.iter().map(of).collect()).await
        {
            tracing::warn!(cause = %error, "heartbeats of the demo could not be recorded");
        }
        tokio::time::sleep(interval).await;
    }
}

async fn sell(demo: Kiosks<'_>, kiosks: &[Kiosk]) -> Infallible {
    let Kiosks { app, key, start, interval } = demo;
    let (clock, zone) = (&app.clock, app.store.zone());
    let mut followed = VecDeque::new();
    let mut starts = Starts::from(start, interval);
    loop {
        let now = clock.now();
        followed.extend(starts.until(now).into_iter().filter_map(|at| LiveSale::new(kiosks, at)));
        followed.retain(|sale: &LiveSale<'_>| {
            sale.sent.is_none() || now.0 - sale.start.0 <= FOLLOWED_MS
        });
        let orders = followed.iter_mut().filter_map(|sale| sale.changed(zone, now)).collect();
        if let Err(error) = app.receive_orders(key.clone(), orders).await {
            tracing::warn!(cause = %error, "an order of the demo could not be stored");
            followed.iter_mut().for_each(|sale| sale.sent = None);
        }
        tokio::time::sleep(clock.lasts(interval).max(STORE_INTERVAL_MIN)).await;
    }
}

/// The times at which sales start: at equal intervals of the clock, regardless of when they are
/// requested.
struct Starts {
    next: UnixMs,
    interval_ms: i64,
}

impl Starts {
    fn from(next: UnixMs, interval: Duration) -> Starts {
        Starts { next, interval_ms: millis(interval).max(1) }
    }

    /// Returns the times that have come since the last call. After a step of the clock, the next
    /// sale is soon, and at most [`SALES_BEHIND_MAX`] are made up for.
    fn until(&mut self, now: UnixMs) -> Vec<UnixMs> {
        let earliest = now.plus_ms(-self.interval_ms * SALES_BEHIND_MAX);
        let latest = now.plus_ms(self.interval_ms);
        self.next = self.next.clamp(earliest, latest);
        let mut starts = Vec::new();
        while self.next <= now {
            starts.push(self.next);
            self.next = self.next.plus_ms(self.interval_ms);
        }
        starts
    }
}

/// A sale that takes place while the demo serves.
struct LiveSale<'k> {
    kiosk: &'k Kiosk,
    key: u64,
    start: UnixMs,
    /// The order as last sent.
    sent: Option<Order>,
}

impl<'k> LiveSale<'k> {
    /// Returns a sale at one of the kiosks, determined by the time.
    fn new(kiosks: &'k [Kiosk], start: UnixMs) -> Option<LiveSale<'k>> {
        let key = LIVE | start.0.unsigned_abs();
        let place = Random::keyed(!key).weighted(kiosks.iter().map(|kiosk| kiosk.location.busy));
        Some(LiveSale { kiosk: kiosks.get(place)?, key, start, sent: None })
    }

    /// Returns the order to send `now`; `None` if it has not changed.
    fn changed(&mut self, zone: &Zone, now: UnixMs) -> Option<Order> {
        let order = self.order(zone, now);
        let is_new = self.sent.as_ref() != Some(&order);
        is_new.then(|| self.sent.insert(order).clone())
    }

    /// Returns the order as of `now`.
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

    /// A delay between two calls changes no start; a step of the clock is followed.
    #[test]
    fn sales_start_at_equal_intervals() {
        let starts = || Starts::from(START, Duration::from_millis(200));
        let (mut often, mut late) = (starts(), starts());
        let all: Vec<UnixMs> = (0..=1_000).flat_map(|ms| often.until(START.plus_ms(ms))).collect();
        assert_eq!(all, [0, 200, 400, 600, 800, 1_000].map(|ms| START.plus_ms(ms)));
        assert_eq!(late.until(START.plus_ms(1_000)), all);
        assert_eq!(late.until(START.plus_ms(-3_600_000)), []);
        assert_eq!(late.until(START.plus_ms(-3_599_800)), [START.plus_ms(-3_599_800)]);
        let days = late.until(START.plus_ms(3 * 86_400_000));
        assert_eq!(days.len(), 10_001);
    }

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
