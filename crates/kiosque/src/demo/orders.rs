//! Sixty days of orders, which are always the same except for their dates.
//!
//! An order is determined by its kiosk, its day and its number within the day; a day by its weekday
//! and its age in weeks. Any eight weeks contain each weekday eight times, so demonstrations of
//! different days only differ in dates, and weekends are still weekends. The first four of the
//! sixty days are the opening days: quieter, and the same for every weekday.

use jiff::SignedDuration;
use jiff::civil::{Date, Weekday};
use kiosque_model::order::Order;
use kiosque_model::time::{TimeError, UnixMs, Zone};

use super::kiosks::{Kiosk, kiosks};
use super::random::Random;
use super::trade::{Sale, order};

/// Number of days with orders, including today.
pub(crate) const DAYS: u32 = 60;
/// Number of those days with demand by weekday.
const WHOLE_WEEKS_DAYS: u32 = 56;
/// Orders of a usual kiosk on a usual day, in thousandths.
const USUAL_DAY: u32 = 10_650;

/// Returns the orders of the [`DAYS`] that end with `today`, by trade start. No order starts after
/// `until`, and later payments, shipments and refunds have not happened yet.
pub(crate) fn orders(zone: &Zone, today: Date, until: UnixMs) -> Vec<Order> {
    let kiosks = kiosks();
    let days = || (0..DAYS).filter_map(|back| Day::back_from(today, back));
    let mut orders = Vec::new();
    for kiosk in &kiosks {
        for day in days().filter(|day| day.is_open(kiosk)) {
            orders.extend(day.sales(kiosk, zone, until));
        }
    }
    orders.sort_by(|a, b| (a.trade_start, &a.order_id).cmp(&(b.trade_start, &b.order_id)));
    orders
}

/// One of the days.
#[derive(Clone, Copy)]
struct Day {
    date: Date,
    back: u32,
    /// Number of the day, which depends on its weekday and its age in weeks.
    slot: u32,
    /// `None` in the opening days.
    weekday: Option<Weekday>,
}

impl Day {
    /// Returns the day `back` days before `today`; `None` before the calendar begins.
    fn back_from(today: Date, back: u32) -> Option<Day> {
        let date = today.checked_sub(SignedDuration::from_hours(24 * i64::from(back))).ok()?;
        if back >= WHOLE_WEEKS_DAYS {
            return Some(Day { date, back, slot: back, weekday: None });
        }
        let weekday = date.weekday();
        let within_week = u32::from(weekday.to_monday_zero_offset().unsigned_abs());
        Some(Day { date, back, slot: back / 7 * 7 + within_week, weekday: Some(weekday) })
    }

    fn is_open(self, kiosk: &Kiosk) -> bool {
        kiosk.site.closed_weeks_ago.is_none_or(|weeks| self.back / 7 >= weeks)
    }

    fn key(self, kiosk: &Kiosk, nth: u16) -> u64 {
        u64::from(kiosk.number) << 32 | u64::from(self.slot) << 16 | u64::from(nth)
    }

    /// Returns the number of orders of a kiosk on the day.
    fn demand(self, kiosk: &Kiosk) -> u16 {
        let mut random = Random::keyed(self.key(kiosk, u16::MAX));
        let volume = self.weekday.map_or(60, |weekday| kiosk.site.rhythm().volume(weekday));
        // Sales grow by 2 % a week.
        let growth = 100 - 2 * (self.slot / 7).min(8);
        let mean = USUAL_DAY * kiosk.location.busy / 100 * volume / 100 * growth / 100;
        let thousandths = mean / 100 * (80 + random.below(41));
        u16::try_from((thousandths + random.below(1000)) / 1000).unwrap_or(u16::MAX - 1)
    }

    fn sales(self, kiosk: &Kiosk, zone: &Zone, until: UnixMs) -> impl Iterator<Item = Order> {
        let hours = kiosk.site.rhythm().hours(self.weekday);
        (0..self.demand(kiosk)).filter_map(move |nth| {
            let key = self.key(kiosk, nth);
            let mut random = Random::keyed(key);
            let hour = u32::try_from(random.weighted(hours.iter().copied())).ok()?;
            let second = hour * 3600 + random.below(3600);
            let start = instant(zone, self.date, i64::from(second))?;
            let sale = Sale { kiosk, key, nth, hour, start, until };
            (start <= until).then(|| order(&sale, zone, &mut random))
        })
    }
}

/// Returns the instant of a local time. A nonexistent or ambiguous time is moved by whole hours to
/// the first one that is neither; zones have skipped up to a whole day.
fn instant(zone: &Zone, date: Date, second: i64) -> Option<UnixMs> {
    let civil = date.at(0, 0, 0, 0).checked_add(SignedDuration::from_secs(second)).ok()?;
    for hours in 0..=26 {
        let later = civil.checked_add(SignedDuration::from_hours(hours)).ok()?;
        match zone.resolve(later) {
            Err(TimeError::Skipped(..) | TimeError::Ambiguous(..)) => {}
            resolved => return resolved.ok(),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap, HashSet};

    use jiff::civil::date;
    use kiosque_model::mask::masked;
    use kiosque_model::order::{PayStatus, ShipmentStatus};

    use super::*;
    use crate::demo::fleet::fleet;

    const TODAY: Date = date(2026, 11, 20);

    fn all() -> Vec<Order> {
        orders(&Zone::utc(), TODAY, UnixMs::MAX)
    }

    fn paris() -> Zone {
        Zone::named("Europe/Paris").unwrap()
    }

    /// Returns an order without its dates: times become the time since the start.
    fn undated(mut order: Order) -> (String, Order) {
        let start = order.trade_start.0;
        for time in [&mut order.pay_end, &mut order.shipment] {
            *time = time.map(|at| UnixMs(at.0 - start));
        }
        order.trade_start = UnixMs(0);
        order.trade_no = None;
        (order.order_id.to_string(), order)
    }

    fn share(orders: &[Order], of: impl Fn(&Order) -> bool) -> f64 {
        let number = |count: usize| f64::from(u32::try_from(count).unwrap());
        number(orders.iter().filter(|order| of(order)).count()) / number(orders.len())
    }

    fn hour(order: &Order) -> i8 {
        Zone::utc().civil(order.trade_start).hour()
    }

    #[test]
    fn the_same_day_gives_the_same_orders() {
        assert_eq!(all(), all());
    }

    #[test]
    fn another_day_differs_in_dates_alone() {
        let undated = |today| -> BTreeMap<_, _> {
            orders(&Zone::utc(), today, UnixMs::MAX).into_iter().map(undated).collect()
        };
        let first = undated(TODAY);
        // Every weekday, a leap day, a new year, and far away.
        let days = (14..=19).map(|day| date(2026, 11, day));
        for today in days.chain([date(2028, 2, 29), date(2027, 1, 1), date(1999, 7, 7)]) {
            assert!(undated(today) == first, "{today}");
        }
    }

    #[test]
    fn they_are_about_20_000_by_trade_start_in_the_sixty_days_that_end_today() {
        let orders = all();
        assert!((19_000..=21_000).contains(&orders.len()), "{}", orders.len());
        assert!(orders.is_sorted_by_key(|order| order.trade_start));
        let days: HashSet<_> =
            orders.iter().map(|order| Zone::utc().civil(order.trade_start).date()).collect();
        assert_eq!(days.len(), 60);
        assert!(days.contains(&TODAY) && days.contains(&date(2026, 9, 22)));
    }

    #[test]
    fn nothing_after_until_has_happened() {
        let complete: HashMap<_, _> = all().into_iter().map(undated).collect();
        let mut open = 0;
        for minute in 0..8 {
            let until = UnixMs(1_795_176_000_000 + minute * 60_000);
            for order in orders(&Zone::utc(), TODAY, until) {
                let known = [Some(order.trade_start), order.pay_end, order.shipment];
                assert!(known.into_iter().flatten().all(|at| at <= until), "{order:?}");
                let in_progress = order.shipment_status == ShipmentStatus::InProgress;
                let (id, order) = undated(order);
                let end = &complete[&id];
                assert_eq!(
                    (order.total_amount, &order.device_code),
                    (end.total_amount, &end.device_code)
                );
                if order != *end {
                    open += 1;
                    assert!(
                        in_progress
                            || matches!(order.pay_status, PayStatus::Unpaid | PayStatus::Refunding),
                        "{order:?}"
                    );
                }
            }
        }
        assert!((5..200).contains(&open), "{open}");
    }

    #[test]
    fn numbers_are_unique_and_some_orders_have_no_trade_number() {
        let orders = all();
        let ids: HashSet<_> = orders.iter().map(|order| &order.order_id).collect();
        assert_eq!(ids.len(), orders.len());
        let trades: Vec<_> = orders.iter().filter_map(|order| order.trade_no.as_ref()).collect();
        assert_eq!(trades.iter().collect::<HashSet<_>>().len(), trades.len());
        assert!(trades.iter().all(|no| no.as_str().len() == 28 && no.as_str().starts_with("2026")));
        let none = share(&orders, |order| order.trade_no.is_none());
        assert!((0.04..0.2).contains(&none), "{none}");
    }

    #[test]
    fn every_order_is_sold_from_an_aisle_of_its_device_at_that_price() {
        let fleet = fleet();
        let currencies: HashMap<_, _> =
            fleet.products.iter().map(|p| (&p.id, p.currency.unwrap())).collect();
        let aisles: HashMap<_, _> = fleet
            .devices
            .iter()
            .flat_map(|d| d.aisles.iter().flatten().map(move |a| ((&d.code, &a.code), a)))
            .collect();
        for order in &all() {
            assert!((1..=3).contains(&order.lines.len()));
            let chosen: HashSet<_> = order.lines.iter().map(|line| &line.aisle_code).collect();
            assert_eq!(chosen.len(), order.lines.len());
            for line in &order.lines {
                let aisle = aisles[&(&order.device_code, &line.aisle_code)];
                assert!(aisle.enabled && !aisle.broken);
                assert_eq!(line.goods_id, aisle.goods_id);
                assert_eq!((line.goods_price, line.sale_price), (aisle.show_price, aisle.price));
                assert_eq!(order.currency, currencies[&line.goods_id]);
                assert!((1..=3).contains(&line.count));
            }
        }
    }

    #[test]
    fn amounts_fit_the_payment() {
        for order in &all() {
            let sum: i64 = order.lines.iter().map(|line| line.sale_price.0 * line.count).sum();
            let lines_paid: i64 = order.lines.iter().map(|line| line.pay_amount.0).sum();
            assert_eq!(order.total_amount.0, sum);
            assert!(order.total_amount.0 > 0 && order.lines.iter().all(|l| l.sale_price.0 > 0));
            assert!(order.pay_amount <= order.total_amount);
            assert!((0..=order.pay_amount.0).contains(&order.refund_amount.0), "{order:?}");
            assert_eq!(order.pay_end.is_some(), order.pay_amount.0 > 0);
            assert_eq!(lines_paid, if order.pay_end.is_some() { sum } else { 0 });
            let refunded = order.pay_status == PayStatus::Refunded;
            assert_eq!(refunded, order.refund_amount.0 > 0, "{order:?}");
        }
    }

    #[test]
    fn states_fit_the_times() {
        for order in &all() {
            let paid = matches!(
                order.pay_status,
                PayStatus::Paid | PayStatus::Refunding | PayStatus::Refunded
            );
            assert_eq!(paid, order.pay_end.is_some(), "{order:?}");
            assert_eq!(paid, order.pay_channel_name.is_some());
            assert_eq!(paid, order.shipment_status != ShipmentStatus::None);
            let out =
                matches!(order.shipment_status, ShipmentStatus::Success | ShipmentStatus::Partial);
            assert_eq!(out, order.shipment.is_some(), "{order:?}");
            assert!(order.pay_end.is_none_or(|at| at > order.trade_start));
            assert!(order.shipment.is_none_or(|at| Some(at) > order.pay_end));
            assert!(paid || order.trade_no.is_none());
        }
    }

    #[test]
    fn faults_are_on_the_lines_that_were_not_shipped() {
        for order in &all() {
            let faults = order.lines.iter().filter(|line| line.shipment_err_code != 0).count();
            match order.shipment_status {
                ShipmentStatus::Failed => assert_eq!(faults, order.lines.len()),
                ShipmentStatus::Partial => assert_eq!(faults, 1),
                _ => assert_eq!(faults, 0),
            }
            for line in &order.lines {
                let faulty = line.shipment_err_code != 0;
                assert_eq!(faulty, line.shipment_fail_desc.is_some());
                let missing = [ShipmentStatus::Failed, ShipmentStatus::Partial];
                assert_eq!(faulty, missing.contains(&line.shipment_status), "{order:?}");
            }
        }
    }

    #[test]
    fn faults_have_a_plausible_frequency() {
        let orders = all();
        let pay = |status| share(&orders, |order| order.pay_status == status);
        let shipment = |status| share(&orders, |order| order.shipment_status == status);
        for (what, share, low, high) in [
            ("unpaid", pay(PayStatus::Unpaid), 0.005, 0.02),
            ("cancelled", pay(PayStatus::Cancelled), 0.01, 0.04),
            ("refunding", pay(PayStatus::Refunding), 0.002, 0.02),
            ("refunded", pay(PayStatus::Refunded), 0.01, 0.04),
            ("failed", shipment(ShipmentStatus::Failed), 0.01, 0.03),
            ("partial", shipment(ShipmentStatus::Partial), 0.004, 0.03),
            ("in progress", shipment(ShipmentStatus::InProgress), 0.0, 0.0),
            (
                "coupon",
                share(&orders, |o| o.pay_end.is_some() && o.pay_amount < o.total_amount),
                0.05,
                0.12,
            ),
            ("card", share(&orders, |o| o.card_number.is_some()), 0.2, 0.7),
            ("phone", share(&orders, |o| o.phone.is_some()), 0.1, 0.4),
        ] {
            assert!((low..=high).contains(&share), "{what}: {share}");
        }
    }

    #[test]
    fn card_and_phone_numbers_are_masked() {
        for order in &all() {
            for number in [&order.card_number, &order.phone].into_iter().flatten() {
                assert_eq!(&masked(number), number);
                assert!(number.chars().filter(char::is_ascii_digit).count() == 4, "{number}");
            }
        }
    }

    #[test]
    fn every_device_sells_and_every_product_is_sold_in_three_currencies() {
        let orders = all();
        let fleet = fleet();
        let mut sold: HashMap<_, u32> = HashMap::new();
        orders.iter().for_each(|order| *sold.entry(&order.device_code).or_default() += 1);
        for device in &fleet.devices {
            assert!(sold.get(&device.code).is_some_and(|n| *n > 100), "{}", device.code);
        }
        let goods: HashSet<_> =
            orders.iter().flat_map(|order| order.lines.iter().map(|l| &l.goods_id)).collect();
        assert_eq!(goods.len(), fleet.products.len());
        for code in ["USD", "EUR", "JPY"] {
            let share = share(&orders, |order| order.currency.code() == code);
            assert!(share > 0.15, "{code}: {share}");
        }
    }

    #[test]
    fn nights_are_quieter_than_lunch_and_offices_than_stations_at_weekends() {
        let orders = all();
        let at = |from: i8, to: i8| share(&orders, |order| (from..to).contains(&hour(order)));
        assert!(at(12, 14) > 10.0 * at(1, 3), "{} {}", at(12, 14), at(1, 3));
        assert!(at(7, 9) > 1.5 * at(21, 23));
        let weekend = |prefix: &str| {
            let here: Vec<_> = orders
                .iter()
                .filter(|order| order.device_code.as_str().starts_with(prefix))
                .cloned()
                .collect();
            share(&here, |order| {
                let weekday = Zone::utc().civil(order.trade_start).weekday();
                matches!(weekday, Weekday::Saturday | Weekday::Sunday)
            })
        };
        let (office, campus, station) = (weekend("HBR"), weekend("LKS"), weekend("MTP"));
        assert!(
            office < 0.05 && office < campus && campus < station,
            "{office} {campus} {station}"
        );
    }

    #[test]
    fn the_group_that_ended_has_sold_nothing_for_three_weeks() {
        let last = all().into_iter().rfind(|o| o.device_code.as_str().starts_with("AIR")).unwrap();
        assert_eq!(Zone::utc().civil(last.trade_start).date(), date(2026, 10, 30));
    }

    #[test]
    fn clocks_that_are_set_move_orders_but_lose_none() {
        let complete = all().len();
        for today in [date(2026, 3, 29), date(2026, 10, 25), date(2026, 11, 20)] {
            assert_eq!(orders(&paris(), today, UnixMs::MAX).len(), complete, "{today}");
        }
        // A zone that sets its clocks at midnight, one that skipped a day, one by half an hour.
        for (zone, today) in [
            ("Africa/Cairo", date(2026, 4, 24)),
            ("Pacific/Apia", date(2011, 12, 31)),
            ("Australia/Lord_Howe", date(2026, 10, 4)),
        ] {
            let zone = Zone::named(zone).unwrap();
            assert_eq!(orders(&zone, today, UnixMs::MAX).len(), complete, "{zone}");
        }
    }

    #[test]
    fn days_before_the_calendar_have_no_orders() {
        assert!(orders(&paris(), Date::MIN, UnixMs::MAX).is_empty());
        assert!(orders(&paris(), date(1969, 12, 31), UnixMs::MAX).is_empty());
        assert!(orders(&paris(), TODAY, UnixMs(0)).is_empty());
    }
}
