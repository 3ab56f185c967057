//! One group's part of a batch: reads the stored state of its orders, applies each order to it, and
//! writes the changes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use kiosque_model::sales::Sale;
use kiosque_model::{DeviceNo, GroupNo, TradeNo};
use tokio::try_join;

use super::order_state::{
    DamagedOrders, OrderState, WriteKind, read_orders, refuse_large, write_orders,
};
use super::{BatchWriter, OrderOutcome, OwnedOrder, Position, reject};
use crate::accounts::group_id;
use crate::cooperative::yield_if_due;
use crate::db::Bound;
use crate::error::Error;
use crate::histories::ChangeCounter;
use crate::orders::blocks::{ChangedBlocks, blocked_seq};
use crate::record::dictionaries::Dictionary;
use crate::record::stored::StoredOrder;
use crate::record::{Incoming, order_id_of, sale};
use crate::sql::{Value, distinct, row, statements};
use crate::sums::Sums;

row! {
    struct LedgerRow { device_code: String, device_no: DeviceNo, last_seq: i64, blocked_seq: i64 }
}

statements! {
    HOLDERS(group_no) -> (String, Option<String>) = "select o.trade_no_in, o.order_id
        from {each r: number text}
        cross join orders o where o.group_no = $group_no and o.trade_no_in = r.number";
    LEDGERS(group_no) -> LedgerRow = "select l.device_code, l.device_no, l.last_seq, l.blocked_seq
        from {each r: code text}
        cross join ledger l where l.group_no = $group_no and l.device_code = r.code";
    SET_LEDGER(group_no, history) = "update ledger set last_seq = r.last_seq,
            blocked_seq = r.blocked_seq, last_change_no = r.last_change_no, history = $history,
            last_active_ms = case when ledger.last_active_ms >= r.active_ms
                then ledger.last_active_ms else r.active_ms end
        from {rows r: code text, last_seq bigint, blocked_seq bigint, last_change_no bigint,
            active_ms bigint}
        where ledger.group_no = $group_no and ledger.device_code = r.code";
    CLEAR_TRADE_NO_IN(group_no) = "update orders set trade_no_in = null
        from {rows r: device bigint, seq bigint}
        where orders.group_no = $group_no and orders.device_no = r.device and orders.seq = r.seq";
    DEVICE_CODE(device_no) -> String = "select device_code from devices
        where device_no = $device_no";
}

/// The ledger of a device.
struct Ledger {
    code: String,
    last_seq: i64,
    /// The last order in a complete block, before the batch.
    blocked_seq: i64,
    /// The last activity of the device in the batch; `None` while the batch changes nothing.
    active_ms: Option<i64>,
    /// The last change of its orders in the batch.
    last_change_no: i64,
}

/// One group's part of a batch.
pub(super) struct GroupWriter<'a> {
    batch: &'a BatchWriter<'a>,
    group: GroupNo,
    /// The orders of the batch by order id: those that were stored before it, and new ones.
    orders: HashMap<Cow<'a, str>, OrderState<'a>>,
    damaged: DamagedOrders,
    /// Order ids by internal trade number; `None` if an update has cleared the number.
    holders: HashMap<String, Option<String>>,
    /// Orders whose internal trade number an update has cleared.
    cleared: Vec<[Value<'static>; 2]>,
    ledgers: BTreeMap<DeviceNo, Ledger>,
    blocks: ChangedBlocks,
    last_change: i64,
    /// The change numbers before the batch.
    counter: ChangeCounter,
    /// The increase of orders that are being refunded.
    refunding: i64,
    sums: Sums,
}

impl<'a> GroupWriter<'a> {
    /// Reads the stored state of all orders. The group is locked.
    pub(super) async fn load(
        batch: &'a BatchWriter<'a>,
        group: GroupNo,
        orders: &[OwnedOrder<'a>],
    ) -> Result<GroupWriter<'a>, Error> {
        let ids = distinct(orders.iter().map(|one| one.order.order_id.as_str()));
        let numbers = orders.iter().filter_map(|one| one.order.trade_no_in.as_ref());
        let numbers = distinct(numbers.map(TradeNo::as_str));
        let codes = distinct(orders.iter().map(|one| one.order.device_code.as_str()));
        let sales =
            orders.iter().filter_map(|one| Some((one.ownership.device, one.order.sale.as_ref()?)));
        let stored = read_orders(group, ids, batch.dictionaries);
        let holders = Bound::new(&HOLDERS, [group.into()]).with_rows(numbers).all();
        let ledgers = Bound::new(&LEDGERS, [group.into()]).with_rows(codes).all();
        let counter = ChangeCounter::read(group, batch.history);
        let sums = Sums::of_stored(group, batch.zone, sales);
        let ((stored, holders), (ledgers, (counter, sums))) =
            batch.write.as_one(((stored, holders), (ledgers, (counter, sums)))).await?;
        let holders: Vec<(String, Option<String>)> = holders;
        let ledgers = ledgers.into_iter().map(|ledger: LedgerRow| {
            let LedgerRow { device_code: code, device_no, last_seq, blocked_seq } = ledger;
            let (active_ms, last_change_no) = (None, 0);
            (device_no, Ledger { code, last_seq, blocked_seq, active_ms, last_change_no })
        });
        let no_counter = || Error::Data(format!("group {} has no change counter", group.0));
        let counter: ChangeCounter = counter.ok_or_else(no_counter)?;
        Ok(GroupWriter {
            batch,
            group,
            orders: stored.orders,
            damaged: stored.damaged,
            holders: holders.into_iter().collect(),
            cleared: Vec::new(),
            ledgers: ledgers.collect(),
            blocks: ChangedBlocks::default(),
            last_change: counter.last_change_no,
            counter,
            refunding: 0,
            sums,
        })
    }

    /// Returns whether the group has an order of this device with this id.
    pub(super) fn has(&self, one: &OwnedOrder<'_>) -> bool {
        let stored = self.orders.get(one.order.order_id.as_str());
        stored.is_some_and(|stored| stored.device == one.ownership.device)
    }

    /// Applies an order to the state. `stored_in` is another group of its device that already has
    /// the order. Nothing is written before [`GroupWriter::write`].
    pub(super) async fn apply(
        &mut self,
        one: &OwnedOrder<'a>,
        stored_in: Option<GroupNo>,
    ) -> Result<OrderOutcome, Error> {
        let order = one.order;
        if !self.ledgers.contains_key(&one.ownership.device) {
            return self.inconsistent(one).await;
        }
        if let Some(refused) = self.damaged.refuse(order.order_id.as_str()) {
            return Ok(refused);
        }
        if let Some(stored) = self.orders.remove(order.order_id.as_str()) {
            let (state, outcome) = self.update(one, stored).await?;
            self.orders.insert(Cow::Borrowed(order.order_id.as_str()), state);
            return Ok(outcome);
        }
        if let Some(other) = stored_in {
            // An update may not change the owning group.
            let reason = format!(
                "order {} belongs to group {}, and at this time to group {}; \
                 an update may not change the owning group",
                order.order_id,
                self.group_id(other).await?,
                self.group_id(self.group).await?,
            );
            return Ok(reject("tradeStartTime", &reason));
        }
        if let Some(refused) = self.refuse_taken_number(one).or_else(|| refuse_large(&order.record))
        {
            return Ok(refused);
        }
        self.insert(one)?;
        Ok(OrderOutcome::Accepted)
    }

    /// Returns the outcome of an order of a device whose ledger is missing, or is another device's.
    async fn inconsistent(&self, one: &OwnedOrder<'_>) -> Result<OrderOutcome, Error> {
        Ok(OrderOutcome::Inconsistent(format!(
            "deviceCode: device {} has no ledger in its group {}; run `kiosque verify`",
            one.order.device_code,
            self.group_id(self.group).await?,
        )))
    }

    /// Rejects an order whose internal trade number another order has, or defers it if an earlier
    /// line may free the number.
    fn refuse_taken_number(&self, one: &OwnedOrder<'_>) -> Option<OrderOutcome> {
        let order = one.order;
        let number = order.trade_no_in.as_ref()?;
        if order_id_of(number.as_str()).is_some() {
            let reason = format!("{number} is the derived number of another order");
            return Some(reject("tradeNoIn", &reason));
        }
        let holder = self.holders.get(number.as_str())?.as_ref();
        let holder = holder.filter(|holder| *holder != order.order_id.as_str())?;
        Some(match one.position {
            Position::OfLine => {
                reject("tradeNoIn", &format!("order {holder} has {number} already"))
            }
            Position::Sorted => OrderOutcome::Deferred,
        })
    }

    async fn update(
        &mut self,
        one: &OwnedOrder<'a>,
        stored: OrderState<'a>,
    ) -> Result<(OrderState<'a>, OrderOutcome), Error> {
        let OwnedOrder { order, ownership, .. } = *one;
        if stored.device != ownership.device {
            let write = self.batch.write;
            let key = [stored.device.into()];
            let device: Option<String> = write.one(&DEVICE_CODE, &key).await?;
            let reason = format!(
                "order {} belongs to device {}, not {}; an update may not change the device",
                order.order_id,
                device.unwrap_or_default(),
                order.device_code,
            );
            return Ok((stored, reject("deviceCode", &reason)));
        }
        if let Some(refused) = self.refuse_taken_number(one) {
            return Ok((stored, refused));
        }
        let record = order.record_after(&stored.record)?;
        if let Some(refused) = refuse_large(&record) {
            return Ok((stored, refused));
        }
        let new = stored.updated(order, record);
        if new.is_stored_as(&stored) {
            return Ok((new, OrderOutcome::Unchanged));
        }
        let frees_number = stored.trade_no_in.is_some() && stored.trade_no_in != new.trade_no_in;
        if frees_number && one.position == Position::Sorted {
            // An earlier line may claim the number, which is taken until this line.
            return Ok((stored, OrderOutcome::Deferred));
        }
        self.update_holders(order.order_id.as_str(), stored.trade_no_in.as_deref(), &new);
        let blocked_seq = self.changed(ownership.device, order)?.blocked_seq;
        if new.seq <= blocked_seq && new.trade_start != stored.trade_start {
            self.blocks.insert(ownership.device, new.seq);
        }
        let key = (ownership.device, new.seq);
        let new_sale = || {
            let sale = new.sale_at.map(|at| sale::sale_of(new.record.text().as_bytes(), at));
            sale.transpose()
        };
        if let Some(at) = stored.sale_at {
            let text = stored.record.text().as_bytes();
            let old = sale::sale_of(text, at)?;
            let day = sale::day_counted(text, at, self.batch.zone)?;
            self.sums.count_on(day, ownership.device, &old, -1);
            self.sums.correct_goods_names(key, &old, new_sale()?.as_ref());
        } else if !order.nameless_lines.is_empty() {
            // Lines without a name keep the name of the order that was not a sale.
            new_sale()?.iter().for_each(|sale| self.sums.record_goods_names(key, sale));
        }
        self.count_sale(key, order.sale.as_ref());
        self.refunding += i64::from(new.is_refunding()) - i64::from(stored.is_refunding());
        let kind = stored.pending.map_or(WriteKind::Update, |(kind, _)| kind);
        let pending = Some((kind, self.last_change));
        Ok((OrderState { pending, ..new }, OrderOutcome::Updated))
    }

    fn update_holders(&mut self, order_id: &str, old: Option<&str>, new: &OrderState<'_>) {
        if old != new.trade_no_in.as_deref() {
            if let Some(number) = old {
                self.holders.insert(number.to_owned(), None);
                self.cleared.push([new.device.into(), new.seq.into()]);
            }
            if let Some(number) = &new.trade_no_in {
                self.holders.insert(number.clone().into_owned(), Some(order_id.to_owned()));
            }
        }
    }

    fn insert(&mut self, one: &OwnedOrder<'a>) -> Result<(), Error> {
        let order = one.order;
        let device = one.ownership.device;
        let ledger = self.changed(device, order)?;
        ledger.last_seq += 1;
        let seq = ledger.last_seq;
        let order_id = order.order_id.as_str();
        if let Some(number) = &order.trade_no_in {
            self.holders.insert(number.as_str().to_owned(), Some(order_id.to_owned()));
        }
        let state = OrderState::new(one, seq, self.last_change);
        self.refunding += i64::from(state.is_refunding());
        self.orders.insert(Cow::Borrowed(order_id), state);
        self.count_sale((device, seq), order.sale.as_ref());
        Ok(())
    }

    fn count_sale(&mut self, key: (DeviceNo, i64), sale: Option<&Sale>) {
        if let Some(sale) = sale {
            self.sums.count(self.batch.zone, key.0, sale);
            self.sums.record_goods_names(key, sale);
        }
    }

    /// Assigns the next change number to an order. Returns the ledger of its device, with the
    /// change, and with the start of the trade as activity.
    fn changed(&mut self, device: DeviceNo, order: &Incoming) -> Result<&mut Ledger, Error> {
        let active_ms = order.trade_start.0.min(self.batch.options.now.0);
        let ledger = self.ledgers.get_mut(&device).ok_or(Error::Gone)?;
        ledger.active_ms = ledger.active_ms.max(Some(active_ms));
        self.last_change += 1;
        ledger.last_change_no = self.last_change;
        Ok(ledger)
    }

    /// Returns the last change number, if an order changed.
    pub(super) fn last_change(&self) -> Option<i64> {
        (self.last_change > self.counter.last_change_no).then_some(self.last_change)
    }

    /// Writes the changes, with records packed with a dictionary; the statements are pipelined.
    /// Returns the number of records.
    pub(super) async fn write(&mut self, dictionary: &Dictionary) -> Result<i64, Error> {
        let (write, group) = (self.batch.write, [self.group.into()]);
        let group_and_history = [self.group.into(), self.batch.history.into()];
        let orders = self.orders.iter();
        let mut pending: Vec<_> =
            orders.filter_map(|(id, state)| Some((state.pending?, id, state))).collect();
        // In the order of the batch.
        pending.sort_unstable_by_key(|((_, change), ..)| *change);
        let mut packed = Vec::with_capacity(pending.len());
        for ((kind, change), id, state) in pending {
            yield_if_due();
            let (order, record) = state.packed((self.group, id), change, dictionary)?;
            packed.push((kind, order, record));
        }
        let write_of = |wanted| {
            let orders = packed.iter().filter(move |(kind, ..)| *kind == wanted);
            let orders = orders.map(|(_, order, record)| StoredOrder { record, ..*order });
            write_orders(write, self.group, wanted, orders)
        };
        self.ledgers.retain(|_, ledger| ledger.active_ms.is_some());
        let ledgers = self.ledgers.values().map(|ledger| {
            [
                ledger.code.as_str().into(),
                ledger.last_seq.into(),
                blocked_seq(ledger.last_seq).into(),
                ledger.last_change_no.into(),
                ledger.active_ms.into(),
            ]
        });
        let mut sums = std::mem::take(&mut self.sums);
        // First, so that a number is free before another order gets it.
        write.execute_each(&CLEAR_TRADE_NO_IN, self.cleared.iter(), &group).await?;
        try_join!(
            biased;
            write_of(WriteKind::Insert),
            write_of(WriteKind::Update),
            write.execute_each(&SET_LEDGER, ledgers, &group_and_history),
            self.write_change_counter(),
            sums.write(write, self.group),
        )?;
        for (device, ledger) in &self.ledgers {
            self.blocks.extend(*device, ledger.blocked_seq, blocked_seq(ledger.last_seq));
        }
        self.blocks.write(write, self.group).await?;
        Ok(i64::try_from(packed.len()).unwrap_or(i64::MAX))
    }

    async fn write_change_counter(&self) -> Result<(), Error> {
        let Some(last_change_no) = self.last_change() else { return Ok(()) };
        let write = self.batch.write;
        let history = self.batch.history;
        self.counter.advance(write, self.group, history, last_change_no, self.refunding).await
    }

    async fn group_id(&self, group: GroupNo) -> Result<String, Error> {
        Ok(group_id(self.batch.write, group).await?.unwrap_or_default())
    }
}
