//! A single order: selection, payment, shipment and refund, as far as they have happened.

use kiosque_clock::mixed;
use kiosque_model::mask::masked;
use kiosque_model::money::Minor;
use kiosque_model::order::{Line, Order, PayStatus, ShipmentStatus};
use kiosque_model::time::{UnixMs, Zone};
use kiosque_model::{OrderId, TradeNo};

use super::data::Recorded;
use super::kiosks::Kiosk;
use super::random::Random;

/// A sale at a kiosk.
pub(super) struct Sale<'a> {
    /// Kiosk.
    pub(super) kiosk: &'a Kiosk,
    /// Unique key of the sale.
    pub(super) key: u64,
    /// Number of the sale within the kiosk's day.
    pub(super) nth: u16,
    /// Hour of the day.
    pub(super) hour: u32,
    /// Start of the trade.
    pub(super) start: UnixMs,
    /// Events after this have not happened yet.
    pub(super) until: UnixMs,
}

/// The course of a sale.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    /// Paid and shipped.
    Well,
    /// Never paid.
    Unpaid,
    /// Cancelled by the buyer.
    Cancelled,
    /// Paid, and no item was shipped.
    Failed,
    /// Paid, and an item was not shipped.
    Partial,
    /// Shipped, and refunded after a complaint.
    Returned,
}

/// Fault codes of kiosks and their descriptions.
const FAULTS: [(i64, &str); 5] = [
    (1001, "Nothing passed the drop sensor"),
    (1002, "The motor of the aisle is blocked"),
    (1003, "The lift did not reach the layer"),
    (1004, "The pickup door did not open"),
    (2001, "The cabinet controller did not answer"),
];

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;

/// Returns the order of a sale.
pub(super) fn order(sale: &Sale<'_>, zone: &Zone, random: &mut Random) -> Order {
    let mut order = chosen(sale, random);
    match Course::drawn(&order.lines, random) {
        Course::Unpaid => {}
        Course::Cancelled => {
            if sale.has_happened(sale.start.plus_ms(random.between(20, 120) * SECOND)) {
                order.pay_status = PayStatus::Cancelled;
            }
        }
        course => {
            let paid_at = sale.start.plus_ms(random.between(4, 45) * SECOND);
            if sale.has_happened(paid_at) {
                paid(&mut order, paid_at, sale, zone, random);
                shipped(&mut order, paid_at, course, sale, random);
            }
        }
    }
    order
}

impl Sale<'_> {
    fn has_happened(&self, at: UnixMs) -> bool {
        at <= self.until
    }

    /// Returns a trade number as payment providers issue them: digits that begin with the time.
    fn trade_no(&self, zone: &Zone, random: &mut Random) -> TradeNo {
        let mut digits = zone.text(self.start);
        digits.retain(|c| c.is_ascii_digit());
        let Kiosk { number, .. } = self.kiosk;
        let nth = self.nth;
        TradeNo::parse(format!("{digits}{number:04}{nth:04}{:06}", random.below(1_000_000)))
            .expect("28 digits are a trade number")
    }
}

impl Course {
    fn drawn(lines: &[Line], random: &mut Random) -> Course {
        let pieces: i64 = lines.iter().map(|line| line.count).sum();
        match random.below(1000) {
            0..12 => Course::Unpaid,
            12..36 => Course::Cancelled,
            36..54 => Course::Failed,
            54..84 if pieces > 1 => Course::Partial,
            84..88 => Course::Returned,
            _ => Course::Well,
        }
    }
}

/// Returns the order before payment.
fn chosen(sale: &Sale<'_>, random: &mut Random) -> Order {
    let lines = basket(sale, random);
    let total = lines.iter().map(|line| line.sale_price.0 * line.count).sum();
    let order_id = OrderId::parse(format!("{:016x}", mixed(sale.key)));
    let order_id = order_id.expect("16 digits are an id");
    let currency = sale.kiosk.site.range().currency();
    let device_code = sale.kiosk.code.clone();
    let order = Order::unpaid(order_id, device_code, currency, Minor(total), sale.start);
    Order { lines, ..order }
}

fn basket(sale: &Sale<'_>, random: &mut Random) -> Vec<Line> {
    let mut wanted: Vec<u32> = sale
        .kiosk
        .aisles
        .iter()
        .map(|(aisle, product)| {
            let sells = aisle.enabled && !aisle.broken;
            let demand = product.category().demand[sale.hour as usize];
            if sells { demand * product.popularity } else { 0 }
        })
        .collect();
    let lines = 1 + random.weighted([72, 21, 7].into_iter());
    let mut basket = Vec::with_capacity(lines);
    for _ in 0..lines {
        let place = random.weighted(wanted.iter().copied());
        let Some((aisle, product)) = sale.kiosk.aisles.get(place) else { break };
        // An aisle is chosen once; more of its product is a larger count.
        wanted[place] = 0;
        let most = if product.category().single { 0 } else { 1 };
        let count = [1, 2, 3][random.weighted([87, 11 * most, 2 * most].into_iter())];
        basket.push(Line {
            goods_id: aisle.goods_id.clone(),
            goods_name: None,
            aisle_code: aisle.code.clone(),
            count,
            goods_price: aisle.show_price,
            sale_price: aisle.price,
            pay_amount: Minor(0),
            shipment_status: ShipmentStatus::None,
            shipment_err_code: 0,
            shipment_fail_desc: None,
        });
    }
    basket
}

fn paid(order: &mut Order, at: UnixMs, sale: &Sale<'_>, zone: &Zone, random: &mut Random) {
    let site = sale.kiosk.site;
    let channel = &site.channels[random.weighted(site.channels.iter().map(|one| one.share))];
    for line in &mut order.lines {
        line.pay_amount = Minor(line.sale_price.0 * line.count);
    }
    let total = order.total_amount.0;
    let step = site.range().step;
    // A coupon applies to the order, so the lines add up to more than the payment.
    let coupon = if random.happens(90) { (total / 10 / step * step).max(step) } else { 0 };
    order.pay_amount = Minor(total - coupon);
    order.pay_status = PayStatus::Paid;
    order.pay_end = Some(at);
    order.pay_channel_name = Some(channel.name.clone());
    let [first, second, third] = [(); 3].map(|()| random.below(10_000));
    match channel.records {
        Recorded::Card => {
            order.card_number = Some(masked(&format!("4000 {first:04} {second:04} {third:04}")));
        }
        Recorded::Phone => order.phone = Some(masked(&format!("{}{third:04}", site.dial))),
        Recorded::Trade | Recorded::Nothing => {}
    }
    if channel.records != Recorded::Nothing {
        order.trade_no = Some(sale.trade_no(zone, random));
    }
}

fn shipped(order: &mut Order, paid: UnixMs, course: Course, sale: &Sale<'_>, random: &mut Random) {
    let done_at = paid.plus_ms(random.between(6, 40) * SECOND);
    let (code, words) = FAULTS[random.below(5) as usize];
    if !sale.has_happened(done_at) {
        set_shipment(order, ShipmentStatus::InProgress);
        return;
    }
    set_shipment(order, ShipmentStatus::Success);
    order.shipment = Some(done_at);
    let fault = |line: &mut Line, status| {
        line.shipment_status = status;
        line.shipment_err_code = code;
        line.shipment_fail_desc = Some(words.to_owned());
    };
    let mut owed = 0;
    match course {
        Course::Failed => {
            set_shipment(order, ShipmentStatus::Failed);
            order.lines.iter_mut().for_each(|line| fault(line, ShipmentStatus::Failed));
            order.shipment = None;
            owed = order.pay_amount.0;
        }
        Course::Partial => {
            order.shipment_status = ShipmentStatus::Partial;
            let alone = order.lines.len() == 1;
            if let Some(line) = order.lines.last_mut() {
                // A single line lacks one item; otherwise the whole last line is missing.
                let (status, missing) = if alone {
                    (ShipmentStatus::Partial, 1)
                } else {
                    (ShipmentStatus::Failed, line.count)
                };
                fault(line, status);
                let value = line.sale_price.0 * missing;
                owed = value * order.pay_amount.0 / order.total_amount.0;
            }
        }
        Course::Returned => owed = order.pay_amount.0,
        Course::Well | Course::Unpaid | Course::Cancelled => {}
    }
    if owed > 0 {
        refunded(order, Minor(owed), done_at, sale, random);
    }
}

fn set_shipment(order: &mut Order, status: ShipmentStatus) {
    order.shipment_status = status;
    order.lines.iter_mut().for_each(|line| line.shipment_status = status);
}

/// Most refunds are complete within an hour; some are pending, and some are never requested.
fn refunded(order: &mut Order, owed: Minor, since: UnixMs, sale: &Sale<'_>, random: &mut Random) {
    let back_at = since.plus_ms(random.between(2, 50) * MINUTE);
    match random.below(100) {
        0..8 => {}
        8..80 if sale.has_happened(back_at) => {
            order.pay_status = PayStatus::Refunded;
            order.refund_amount = owed;
        }
        // The amount is 0 until the refund is complete.
        _ => order.pay_status = PayStatus::Refunding,
    }
}
