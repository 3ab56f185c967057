//! One group's part of a batch: what is known of it, what becomes of each order, and what is
//! written of that.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use kiosque_model::sales::Sale;
use kiosque_model::{DeviceNo, GroupNo, TradeNo};
use tokio::try_join;

use super::order_state::{OrderState, WriteKind};
use super::{Intake, OfGroup, Outcome, order_id_of, reject};
use crate::Error;
use crate::owners::Ownership;
use crate::record::{Incoming, Kept};
use crate::sql::{Sql, Value, statements};
use crate::sums::{Change, Sums};

statements! {
    KNOWN = "select o.order_id, o.device_no, o.seq, o.trade_no_in, o.shape, o.head, o.lines,
            o.errors, o.trade_start_ms, o.trade_no, o.sale_at_ms
        from {rows r: id text}
        cross join orders o where o.group_no = $2 and o.order_id = r.id";
    KEPT_ELSEWHERE = "select device_no from orders where group_no = $1 and order_id = $2";
    HOLDERS = "select o.trade_no_in, o.order_id from {rows r: number text}
        cross join orders o where o.group_no = $2 and o.trade_no_in = r.number";
    LEDGERS = "select l.device_no, l.last_seq from {rows r: code text}
        cross join ledger l where l.group_no = $2 and l.device_code = r.code";
    SET_LEDGER = "update ledger set last_seq = r.last_seq,
            last_active_ms = case when ledger.last_active_ms >= r.active_ms
                then ledger.last_active_ms else r.active_ms end
        from {rows r: code text, last_seq bigint, active_ms bigint}
        where ledger.group_no = $4 and ledger.device_code = r.code";
    CHANGES = "select last_change_no from group_changes where group_no = $1";
    SET_CHANGES = "update group_changes set last_change_no = $2 where group_no = $1";
    RELEASE = "update orders set trade_no_in = null
        from {rows r: device bigint, seq bigint}
        where orders.group_no = $3 and orders.device_no = r.device and orders.seq = r.seq";
    ADD = "insert into orders (group_no, device_no, seq, trade_start_ms, change_no,
            order_id, trade_no, trade_no_in, shape, head, lines, errors, sale_at_ms)
        select $13, r.device, r.seq, r.start_ms, r.change, r.id, r.trade_no, r.trade_no_in, r.shape,
            r.head, r.lines, r.errors, r.sale_ms
        from {rows r: device bigint, seq bigint, start_ms bigint, change bigint, id text,
            trade_no text, trade_no_in text, shape bigint, head text, lines text, errors text,
            sale_ms bigint}
        where true";
    CHANGE = "update orders set trade_start_ms = r.start_ms, change_no = r.change,
            trade_no = r.trade_no, trade_no_in = r.trade_no_in, shape = r.shape, head = r.head,
            lines = r.lines, errors = r.errors, sale_at_ms = r.sale_ms
        from {rows r: device bigint, seq bigint, start_ms bigint, change bigint, id text,
            trade_no text, trade_no_in text, shape bigint, head text, lines text, errors text,
            sale_ms bigint}
        where orders.group_no = $13 and orders.device_no = r.device and orders.seq = r.seq";
    DEVICE_CODE = "select device_code from devices where device_no = $1";
    GROUP_ID = "select group_id from groups where group_no = $1";
}

/// The ledger of one device while a batch is taken in.
struct Tally {
    code: String,
    last_seq: i64,
    active_ms: i64,
}

/// One group's part of a batch.
pub(super) struct GroupWriter<'a> {
    intake: &'a Intake<'a>,
    group: GroupNo,
    known: HashMap<Cow<'a, str>, OrderState<'a>>,
    /// The order that has an internal trade number; none any more, if an order gave it up.
    holders: HashMap<String, Option<String>>,
    /// Orders that gave up an internal trade number.
    released: Vec<[Value<'static>; 2]>,
    last_seqs: HashMap<DeviceNo, i64>,
    ledgers: BTreeMap<DeviceNo, Tally>,
    last_change: i64,
    changes_before: i64,
    sums: Sums,
}

impl<'a> GroupWriter<'a> {
    /// Reads what is known of all that comes in; the group is locked.
    pub(super) async fn open(
        intake: &'a Intake<'a>,
        group: GroupNo,
        orders: &OfGroup<'a>,
    ) -> Result<GroupWriter<'a>, Error> {
        let write = intake.write;
        let of_group = [Value::Int(group.0)];
        let ids = distinct(orders.iter().map(|(_, order, _)| order.order_id.as_str()));
        let told = orders.iter().filter_map(|(_, order, _)| order.trade_no_in.as_ref());
        let numbers = distinct(told.map(TradeNo::as_str));
        let codes = distinct(orders.iter().map(|(_, order, _)| order.device_code.as_str()));
        let mut known = HashMap::with_capacity(orders.len());
        let (mut holders, mut last_seqs) = (HashMap::new(), HashMap::new());
        let (.., last_change) = try_join!(
            biased;
            write.each_of(&KNOWN, &ids, &of_group, |row| {
                known.insert(Cow::Owned(row.text(0)?.to_owned()), OrderState::of(row)?);
                Ok(())
            }),
            write.each_of(&HOLDERS, &numbers, &of_group, |row| {
                holders.insert(row.text(0)?.to_owned(), Some(row.text(1)?.to_owned()));
                Ok(())
            }),
            write.each_of(&LEDGERS, &codes, &of_group, |row| {
                last_seqs.insert(DeviceNo(row.int(0)?), row.int(1)?);
                Ok(())
            }),
            write.one(&CHANGES, &of_group, |row| row.int(0)),
        )?;
        let last_change = last_change
            .ok_or_else(|| Error::Data(format!("group {} has no change counter", group.0)))?;
        Ok(GroupWriter {
            intake,
            group,
            known,
            holders,
            released: Vec::new(),
            last_seqs,
            ledgers: BTreeMap::new(),
            last_change,
            changes_before: last_change,
            sums: Sums::default(),
        })
    }

    pub(super) async fn take(
        &mut self,
        order: &'a Incoming,
        owned: &Ownership,
    ) -> Result<Outcome, Error> {
        if let Some(found) = self.known.remove(order.order_id.as_str()) {
            let (standing, outcome) = self.change(order, owned, found).await?;
            self.known.insert(Cow::Borrowed(order.order_id.as_str()), standing);
            return Ok(outcome);
        }
        if let Some(other) = self.other_owner(order, owned).await? {
            return Ok(other);
        }
        if let Some(taken) = self.trade_no_in_taken(order) {
            return Ok(taken);
        }
        self.add(order, owned)?;
        Ok(Outcome::Accepted)
    }

    /// An update may change neither the device nor the owning group.
    async fn other_owner(
        &self,
        order: &Incoming,
        owned: &Ownership,
    ) -> Result<Option<Outcome>, Error> {
        let write = self.intake.write;
        for former in owned.groups().into_iter().filter(|former| *former != self.group) {
            let params = [former.0.into(), order.order_id.as_str().into()];
            let device = write.one(&KEPT_ELSEWHERE, &params, |row| Ok(DeviceNo(row.int(0)?)));
            if device.await? == Some(owned.device) {
                let reason = format!(
                    "order {} is kept for group {}, and by this time it would be group {}'s; \
                     an update may not change the owning group",
                    order.order_id,
                    self.name(&GROUP_ID, former.0).await?,
                    self.name(&GROUP_ID, self.group.0).await?,
                );
                return Ok(Some(reject("tradeStartTime", &reason)));
            }
        }
        Ok(None)
    }

    fn trade_no_in_taken(&self, order: &Incoming) -> Option<Outcome> {
        let number = order.trade_no_in.as_ref()?;
        if order_id_of(number.as_str()).is_some() {
            let reason = format!("{number} is the derived number of another order");
            return Some(reject("tradeNoIn", &reason));
        }
        let holder = self.holders.get(number.as_str())?.as_ref();
        let holder = holder.filter(|holder| *holder != order.order_id.as_str());
        holder.map(|holder| reject("tradeNoIn", &format!("{number} is that of order {holder}")))
    }

    async fn change(
        &mut self,
        order: &'a Incoming,
        owned: &Ownership,
        found: OrderState<'a>,
    ) -> Result<(OrderState<'a>, Outcome), Error> {
        if found.device != owned.device {
            let reason = format!(
                "order {} is kept for device {}, not {}; an update may not change the device",
                order.order_id,
                self.name(&DEVICE_CODE, found.device.0).await?,
                order.device_code,
            );
            return Ok((found, reject("deviceCode", &reason)));
        }
        if let Some(taken) = self.trade_no_in_taken(order) {
            return Ok((found, taken));
        }
        let trade_no_in = found.trade_no_in.as_deref().map(str::to_owned);
        let kept = Kept { trade_no_in, record: found.record.clone().into_owned() };
        let record = self.intake.shape.settle(order, &kept)?;
        let told = order.trade_no_in.as_ref().map(|number| Cow::Borrowed(number.as_str()));
        let becomes = OrderState {
            trade_start: order.trade_start,
            trade_no: order.trade_no.as_ref().map(|number| Cow::Borrowed(number.as_str())),
            trade_no_in: told.or_else(|| found.trade_no_in.clone()),
            sale_at: order.sale.as_ref().map(|sale| sale.at),
            record: Cow::Owned(record),
            ..found
        };
        // The record may look the same: it writes an hour that a clock shows twice like one.
        let same = *becomes.record == kept.record
            && becomes.trade_start == found.trade_start
            && becomes.sale_at == found.sale_at
            && becomes.trade_no == found.trade_no
            && becomes.trade_no_in == found.trade_no_in;
        if same {
            return Ok((becomes, Outcome::Unchanged));
        }
        self.holds(order.order_id.as_str(), kept.trade_no_in.as_deref(), &becomes);
        self.tally(owned.device, order)?;
        if let Some(at) = found.sale_at {
            let (head, lines) = (kept.record.head.as_bytes(), kept.record.lines.as_bytes());
            let was = self.intake.shape.sale(head, lines, at)?;
            self.sums.count(self.intake.zone, (self.group, owned.device), &was, Change::Leaves);
        }
        self.sell(owned.device, order.sale.as_ref());
        let how = found.touched.map_or(WriteKind::Changed, |(how, _)| how);
        let touched = Some((how, self.next_change()));
        Ok((OrderState { touched, ..becomes }, Outcome::Updated))
    }

    fn holds(&mut self, order_id: &str, was: Option<&str>, becomes: &OrderState<'_>) {
        if was != becomes.trade_no_in.as_deref() {
            if let Some(number) = was {
                self.holders.insert(number.to_owned(), None);
                self.released.push([becomes.device.0.into(), becomes.seq.into()]);
            }
            if let Some(number) = &becomes.trade_no_in {
                self.holders.insert(number.clone().into_owned(), Some(order_id.to_owned()));
            }
        }
    }

    fn add(&mut self, order: &'a Incoming, owned: &Ownership) -> Result<(), Error> {
        let tally = self.tally(owned.device, order)?;
        tally.last_seq += 1;
        let seq = tally.last_seq;
        let order_id = order.order_id.as_str();
        if let Some(number) = &order.trade_no_in {
            self.holders.insert(number.as_str().to_owned(), Some(order_id.to_owned()));
        }
        let text = |number: &'a TradeNo| Cow::Borrowed(number.as_str());
        let standing = OrderState {
            device: owned.device,
            seq,
            trade_start: order.trade_start,
            trade_no: order.trade_no.as_ref().map(text),
            trade_no_in: order.trade_no_in.as_ref().map(text),
            sale_at: order.sale.as_ref().map(|sale| sale.at),
            record: Cow::Borrowed(&order.record),
            touched: Some((WriteKind::New, self.next_change())),
        };
        self.known.insert(Cow::Borrowed(order_id), standing);
        self.sell(owned.device, order.sale.as_ref());
        Ok(())
    }

    fn sell(&mut self, device: DeviceNo, sale: Option<&Sale>) {
        if let Some(sale) = sale {
            self.sums.count(self.intake.zone, (self.group, device), sale, Change::Comes);
            self.sums.name(self.group, sale);
        }
    }

    /// The device's ledger, moved by the order's activity: an order counts at its trade's start.
    fn tally(&mut self, device: DeviceNo, order: &Incoming) -> Result<&mut Tally, Error> {
        let code = order.device_code.as_str();
        let active_ms = order.trade_start.0.min(self.intake.now.0);
        let last_seq = self.last_seqs.get(&device).copied().ok_or_else(|| {
            Error::Data(format!("device {code} has no ledger in its owner's group"))
        })?;
        let new = || Tally { code: code.to_owned(), last_seq, active_ms };
        let tally = self.ledgers.entry(device).or_insert_with(new);
        tally.active_ms = tally.active_ms.max(active_ms);
        Ok(tally)
    }

    fn next_change(&mut self) -> i64 {
        self.last_change += 1;
        self.last_change
    }

    /// Writes what became of the batch, nearly all of it on its way together.
    pub(super) async fn close(&self) -> Result<(), Error> {
        let (write, group) = (self.intake.write, [Value::Int(self.group.0)]);
        let mut touched: Vec<(&str, &OrderState<'_>, WriteKind, i64)> = Vec::new();
        for (id, standing) in &self.known {
            if let Some((how, change)) = standing.touched {
                touched.push((id, standing, how, change));
            }
        }
        // In the order in which they came.
        touched.sort_unstable_by_key(|(.., change)| *change);
        let rows = |wanted| {
            let rows = touched.iter().filter(move |(_, _, how, _)| *how == wanted);
            rows.map(|(id, standing, _, change)| standing.columns(id, *change))
        };
        let ledgers = self.ledgers.values().map(|tally| {
            [tally.code.as_str().into(), tally.last_seq.into(), tally.active_ms.into()]
        });
        // A number that changes hands is free before its next order is written.
        write.execute_each(&RELEASE, self.released.iter().copied(), &group).await?;
        try_join!(
            biased;
            write.execute_each(&ADD, rows(WriteKind::New), &group),
            write.execute_each(&CHANGE, rows(WriteKind::Changed), &group),
            write.execute_each(&SET_LEDGER, ledgers, &group),
            self.count_on(),
            self.sums.write(write),
        )?;
        Ok(())
    }

    async fn count_on(&self) -> Result<(), Error> {
        if self.last_change > self.changes_before {
            let params = [self.group.0.into(), self.last_change.into()];
            self.intake.write.execute(&SET_CHANGES, &params).await?;
        }
        Ok(())
    }

    async fn name(&self, sql: &'static Sql, number: i64) -> Result<String, Error> {
        let write = self.intake.write;
        let name = write.one(sql, &[number.into()], |row| Ok(row.text(0)?.to_owned())).await?;
        Ok(name.unwrap_or_default())
    }
}

/// Each text once, as the rows of a statement.
fn distinct<'v>(texts: impl Iterator<Item = &'v str>) -> Vec<[Value<'v>; 1]> {
    let mut texts: Vec<&str> = texts.collect();
    texts.sort_unstable();
    texts.dedup();
    texts.into_iter().map(|text| [text.into()]).collect()
}
