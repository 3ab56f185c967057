//! One group's part of a batch: reads the stored state of its orders, applies each order to it, and
//! writes the changes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use kiosque_model::sales::Sale;
use kiosque_model::{DeviceNo, GroupNo, TradeNo};
use tokio::try_join;

use super::order_row;
use super::order_state::{OrderState, WriteKind};
use super::{BatchWriter, GroupOrders, OrderOutcome, reject};
use crate::Error;
use crate::orders::record::{Incoming, order_id_of, sale};
use crate::owners::Ownership;
use crate::sql::{Sql, Value, row, statements};
use crate::sums::{SaleChange, Sums};

row! {
    struct TradeNoInHolder<'r> { trade_no_in: &'r str, order_id: &'r str }
    struct LastSeq { device_no: DeviceNo, last_seq: i64 }
}

statements! {
    DEVICE_IN_GROUP(group_no, order_id) -> DeviceNo = "select device_no from orders
        where group_no = $group_no and order_id = $order_id";
    HOLDERS(group_no) -> TradeNoInHolder<'_> = "select o.trade_no_in, o.order_id
        from {rows r: number text}
        cross join orders o where o.group_no = $group_no and o.trade_no_in = r.number";
    LAST_SEQS(group_no) -> LastSeq = "select l.device_no, l.last_seq from {rows r: code text}
        cross join ledger l where l.group_no = $group_no and l.device_code = r.code";
    SET_LEDGER(group_no) = "update ledger set last_seq = r.last_seq,
            last_active_ms = case when ledger.last_active_ms >= r.active_ms
                then ledger.last_active_ms else r.active_ms end
        from {rows r: code text, last_seq bigint, active_ms bigint}
        where ledger.group_no = $group_no and ledger.device_code = r.code";
    LAST_CHANGE_NO(group_no) -> i64 = "select last_change_no from group_changes
        where group_no = $group_no";
    SET_LAST_CHANGE_NO(group_no, last_change_no) = "update group_changes
        set last_change_no = $last_change_no where group_no = $group_no";
    CLEAR_TRADE_NO_IN(group_no) = "update orders set trade_no_in = null
        from {rows r: device bigint, seq bigint}
        where orders.group_no = $group_no and orders.device_no = r.device and orders.seq = r.seq";
    DEVICE_CODE(device_no) -> String = "select device_code from devices
        where device_no = $device_no";
    GROUP_ID(group_no) -> String = "select group_id from groups where group_no = $group_no";
}

/// The new values of a device's ledger.
struct LedgerUpdate {
    code: String,
    last_seq: i64,
    active_ms: i64,
}

/// One group's part of a batch.
pub(super) struct GroupWriter<'a> {
    batch: &'a BatchWriter<'a>,
    group: GroupNo,
    /// By order id: the stored orders of the batch, and those that it adds.
    orders: HashMap<Cow<'a, str>, OrderState<'a>>,
    /// Order ids by internal trade number; `None` if an update has cleared the number.
    holders: HashMap<String, Option<String>>,
    /// Orders whose internal trade number an update has cleared.
    cleared: Vec<[Value<'static>; 2]>,
    last_seqs: HashMap<DeviceNo, i64>,
    ledgers: BTreeMap<DeviceNo, LedgerUpdate>,
    last_change: i64,
    stored_change: i64,
    sums: Sums,
}

impl<'a> GroupWriter<'a> {
    /// Reads the stored state of all orders. The group is locked.
    pub(super) async fn load(
        batch: &'a BatchWriter<'a>,
        group: GroupNo,
        orders: &GroupOrders<'a>,
    ) -> Result<GroupWriter<'a>, Error> {
        let write = batch.write;
        let of_group = [group.into()];
        let ids = distinct(orders.iter().map(|(_, order, _)| order.order_id.as_str()));
        let numbers = orders.iter().filter_map(|(_, order, _)| order.trade_no_in.as_ref());
        let numbers = distinct(numbers.map(TradeNo::as_str));
        let codes = distinct(orders.iter().map(|(_, order, _)| order.device_code.as_str()));
        let mut stored = HashMap::with_capacity(orders.len());
        let (mut holders, mut last_seqs) = (HashMap::new(), HashMap::new());
        let (.., last_change) = try_join!(
            biased;
            order_row::read_orders(write, group, &ids, |row| {
                stored.insert(Cow::Owned(row.order_id.to_owned()), OrderState::stored(&row));
            }),
            write.each_of(&HOLDERS, &numbers, &of_group, |row| {
                let TradeNoInHolder { trade_no_in, order_id } = row.read()?;
                holders.insert(trade_no_in.to_owned(), Some(order_id.to_owned()));
                Ok(())
            }),
            write.each_of(&LAST_SEQS, &codes, &of_group, |row| {
                let LastSeq { device_no, last_seq } = row.read()?;
                last_seqs.insert(device_no, last_seq);
                Ok(())
            }),
            write.one(&LAST_CHANGE_NO, &of_group, |row| row.read()),
        )?;
        let last_change = last_change
            .ok_or_else(|| Error::Data(format!("group {} has no change counter", group.0)))?;
        Ok(GroupWriter {
            batch,
            group,
            orders: stored,
            holders,
            cleared: Vec::new(),
            last_seqs,
            ledgers: BTreeMap::new(),
            last_change,
            stored_change: last_change,
            sums: Sums::default(),
        })
    }

    /// Applies an order to the state. Nothing is written before [`GroupWriter::write`].
    pub(super) async fn apply(
        &mut self,
        order: &'a Incoming,
        ownership: &Ownership,
    ) -> Result<OrderOutcome, Error> {
        if let Some(stored) = self.orders.remove(order.order_id.as_str()) {
            let (state, outcome) = self.update(order, ownership, stored).await?;
            self.orders.insert(Cow::Borrowed(order.order_id.as_str()), state);
            return Ok(outcome);
        }
        if let Some(rejected) = self.reject_other_owner(order, ownership).await? {
            return Ok(rejected);
        }
        if let Some(rejected) = self.reject_taken_number(order) {
            return Ok(rejected);
        }
        self.insert(order, ownership.device)?;
        Ok(OrderOutcome::Accepted)
    }

    /// Rejects an order that another owner of its device has already: an update may not change the
    /// owning group.
    async fn reject_other_owner(
        &self,
        order: &Incoming,
        ownership: &Ownership,
    ) -> Result<Option<OrderOutcome>, Error> {
        let write = self.batch.write;
        for other in ownership.groups().into_iter().filter(|other| *other != self.group) {
            let params = [other.into(), order.order_id.as_str().into()];
            let device = write.one(&DEVICE_IN_GROUP, &params, |row| row.read());
            if device.await? == Some(ownership.device) {
                let reason = format!(
                    "order {} belongs to group {}, and at this time to group {}; \
                     an update may not change the owning group",
                    order.order_id,
                    self.name_of(&GROUP_ID, other).await?,
                    self.name_of(&GROUP_ID, self.group).await?,
                );
                return Ok(Some(reject("tradeStartTime", &reason)));
            }
        }
        Ok(None)
    }

    /// Rejects an order whose internal trade number another order has.
    fn reject_taken_number(&self, order: &Incoming) -> Option<OrderOutcome> {
        let number = order.trade_no_in.as_ref()?;
        if order_id_of(number.as_str()).is_some() {
            let reason = format!("{number} is the derived number of another order");
            return Some(reject("tradeNoIn", &reason));
        }
        let holder = self.holders.get(number.as_str())?.as_ref();
        let holder = holder.filter(|holder| *holder != order.order_id.as_str());
        holder.map(|holder| reject("tradeNoIn", &format!("order {holder} has {number} already")))
    }

    async fn update(
        &mut self,
        order: &'a Incoming,
        ownership: &Ownership,
        stored: OrderState<'a>,
    ) -> Result<(OrderState<'a>, OrderOutcome), Error> {
        if stored.device != ownership.device {
            let reason = format!(
                "order {} belongs to device {}, not {}; an update may not change the device",
                order.order_id,
                self.name_of(&DEVICE_CODE, stored.device).await?,
                order.device_code,
            );
            return Ok((stored, reject("deviceCode", &reason)));
        }
        if let Some(rejected) = self.reject_taken_number(order) {
            return Ok((stored, rejected));
        }
        let record = order.record_after(&stored.record)?;
        let new = stored.updated(order, record);
        if new.is_stored_as(&stored) {
            return Ok((new, OrderOutcome::Unchanged));
        }
        self.update_holders(order.order_id.as_str(), stored.trade_no_in.as_deref(), &new);
        self.ledger_of(ownership.device, order)?;
        if let Some(at) = stored.sale_at {
            let (head, lines) = (stored.record.head.as_bytes(), stored.record.lines.as_bytes());
            let old = sale::sale_of(head, lines, at)?;
            let key = (self.group, ownership.device);
            self.sums.count(self.batch.zone, key, &old, SaleChange::Removed);
        }
        self.count_sale(ownership.device, order.sale.as_ref());
        let kind = stored.pending.map_or(WriteKind::Update, |(kind, _)| kind);
        let pending = Some((kind, self.next_change()));
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

    fn insert(&mut self, order: &'a Incoming, device: DeviceNo) -> Result<(), Error> {
        let ledger = self.ledger_of(device, order)?;
        ledger.last_seq += 1;
        let seq = ledger.last_seq;
        let order_id = order.order_id.as_str();
        if let Some(number) = &order.trade_no_in {
            self.holders.insert(number.as_str().to_owned(), Some(order_id.to_owned()));
        }
        let state = OrderState::new(order, device, seq, self.next_change());
        self.orders.insert(Cow::Borrowed(order_id), state);
        self.count_sale(device, order.sale.as_ref());
        Ok(())
    }

    fn count_sale(&mut self, device: DeviceNo, sale: Option<&Sale>) {
        if let Some(sale) = sale {
            self.sums.count(self.batch.zone, (self.group, device), sale, SaleChange::Added);
            self.sums.record_goods_names(self.group, sale);
        }
    }

    /// Returns the ledger of an order's device, with the order recorded as activity at the start of
    /// its trade.
    fn ledger_of(
        &mut self,
        device: DeviceNo,
        order: &Incoming,
    ) -> Result<&mut LedgerUpdate, Error> {
        let code = order.device_code.as_str();
        let active_ms = order.trade_start.0.min(self.batch.now.0);
        let last_seq = self.last_seqs.get(&device).copied().ok_or_else(|| {
            Error::Data(format!("device {code} has no ledger in its owner's group"))
        })?;
        let new = || LedgerUpdate { code: code.to_owned(), last_seq, active_ms };
        let ledger = self.ledgers.entry(device).or_insert_with(new);
        ledger.active_ms = ledger.active_ms.max(active_ms);
        Ok(ledger)
    }

    fn next_change(&mut self) -> i64 {
        self.last_change += 1;
        self.last_change
    }

    /// Writes the changes; the statements are pipelined.
    pub(super) async fn write(&self) -> Result<(), Error> {
        let (write, group) = (self.batch.write, [self.group.into()]);
        let mut pending: Vec<(&str, &OrderState<'_>, WriteKind, i64)> = Vec::new();
        for (id, state) in &self.orders {
            if let Some((kind, change)) = state.pending {
                pending.push((id, state, kind, change));
            }
        }
        // In the order of the batch.
        pending.sort_unstable_by_key(|(.., change)| *change);
        let rows = |wanted| {
            let rows = pending.iter().filter(move |(_, _, kind, _)| *kind == wanted);
            rows.map(|(id, state, _, change)| (state.row(id), *change))
        };
        let ledgers = self.ledgers.values().map(|ledger| {
            [ledger.code.as_str().into(), ledger.last_seq.into(), ledger.active_ms.into()]
        });
        // First, so that a number is free before another order gets it.
        write.execute_each(&CLEAR_TRADE_NO_IN, self.cleared.iter().copied(), &group).await?;
        try_join!(
            biased;
            order_row::insert_orders(write, self.group, rows(WriteKind::Insert)),
            order_row::update_orders(write, self.group, rows(WriteKind::Update)),
            write.execute_each(&SET_LEDGER, ledgers, &group),
            self.write_change_counter(),
            self.sums.write(write),
        )?;
        Ok(())
    }

    async fn write_change_counter(&self) -> Result<(), Error> {
        if self.last_change > self.stored_change {
            let params = [self.group.into(), self.last_change.into()];
            self.batch.write.execute(&SET_LAST_CHANGE_NO, &params).await?;
        }
        Ok(())
    }

    /// Returns the device code or group id that `sql` reads for a number.
    async fn name_of(
        &self,
        sql: &'static Sql,
        number: impl Into<Value<'static>>,
    ) -> Result<String, Error> {
        let name = self.batch.write.one(sql, &[number.into()], |row| row.read()).await?;
        Ok(name.unwrap_or_default())
    }
}

/// Returns each text once, sorted, as the rows of a statement.
fn distinct<'v>(texts: impl Iterator<Item = &'v str>) -> Vec<[Value<'v>; 1]> {
    let mut texts: Vec<&str> = texts.collect();
    texts.sort_unstable();
    texts.dedup();
    texts.into_iter().map(|text| [text.into()]).collect()
}
