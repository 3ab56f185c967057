//! How orders come in: a batch at a time, all in one transaction. New orders take the next sequence
//! numbers of their (group, device); the same order again is an update, or nothing at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use kiosque_model::sales::Sale;
use kiosque_model::{DeviceNo, GroupNo, OrderId, TradeNo, UnixMs, Zone};

use crate::db::Write;
use crate::record::{Incoming, Kept, Record, RecordShape};
use crate::sql::{Value, statements};
use crate::sums::{Change, Sums};
use crate::{Error, Store};

pub use crate::owners::Owners;
use crate::owners::Ownership;

statements! {
    KNOWN = "select device_no, seq, trade_no_in, shape, head, lines, errors, trade_start_ms,
            trade_no, sale_at_ms
        from orders where group_no = $1 and order_id = $2";
    DEVICE_CODE = "select device_code from devices where device_no = $1";
    GROUP_ID = "select group_id from groups where group_no = $1";
    HOLDER_OF_TRADE_NO_IN = "select order_id from orders
        where group_no = $1 and trade_no_in = $2";
    LEDGER = "select last_seq, last_active_ms from ledger
        where group_no = $1 and device_code = $2";
    SET_LEDGER = "update ledger set last_seq = $3, last_active_ms = $4
        where group_no = $1 and device_code = $2";
    CHANGES = "select last_change_no from group_changes where group_no = $1";
    SET_CHANGES = "update group_changes set last_change_no = $2 where group_no = $1";
    ADD = "insert into orders (group_no, device_no, seq, trade_start_ms, change_no,
            order_id, trade_no, trade_no_in, shape, head, lines, errors, sale_at_ms)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    CHANGE = "update orders set trade_start_ms = $4, change_no = $5, trade_no = $6,
            trade_no_in = $7, shape = $8, head = $9, lines = $10, errors = $11, sale_at_ms = $12
        where group_no = $1 and device_no = $2 and seq = $3";
}

/// What a derived internal trade number begins with. Nobody's own numbers do.
const DERIVED: &str = "oid:";

/// The internal trade number of an order that came without one.
#[must_use]
pub fn derived_trade_no_in(order_id: &str) -> String {
    format!("{DERIVED}{order_id}")
}

/// The order whose derived internal trade number this is.
pub(crate) fn order_id_of(trade_no_in: &str) -> Option<&str> {
    trade_no_in.strip_prefix(DERIVED)
}

/// What became of an order that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// New.
    Accepted,
    /// Changed.
    Updated,
    /// As it was.
    Unchanged,
    /// Not kept, and why.
    Rejected(String),
}

impl Store {
    /// Takes a batch in, in its order, durably, and gives it back. What is rejected leaves the rest
    /// alone. The caller chooses batches that take no longer than others may wait.
    ///
    /// # Errors
    /// The store failed; then nothing of the batch was taken in.
    pub async fn receive<B: AsRef<[Incoming]> + Send + 'static>(
        &self,
        batch: B,
        mut owners: Owners,
        now: UnixMs,
    ) -> Result<(Vec<Outcome>, B, Owners), Error> {
        let (zone, shape) = (self.zone.clone(), Arc::clone(&self.shape));
        self.db
            .write(move |write| {
                owners.refresh(write)?;
                let mut intake = Intake {
                    write,
                    now,
                    zone: &zone,
                    shape: &*shape,
                    devices: BTreeMap::new(),
                    changes: BTreeMap::new(),
                    sums: Sums::default(),
                };
                let mut outcomes = Vec::with_capacity(batch.as_ref().len());
                for order in batch.as_ref() {
                    let owned = owners.of(write, order.device_code.as_str())?;
                    outcomes.push(intake.take(order, owned.as_ref())?);
                }
                intake.settle_accounts()?;
                Ok((outcomes, batch, owners))
            })
            .await
    }
}

/// The ledger of one device of one group while a batch is taken in.
struct Tally {
    code: String,
    last_seq: i64,
    last_active: Option<i64>,
}

/// A batch being taken in: counters are read when first needed and written once, at the end.
struct Intake<'a> {
    write: &'a Write<'a>,
    now: UnixMs,
    zone: &'a Zone,
    shape: &'a dyn RecordShape,
    sums: Sums,
    devices: BTreeMap<(GroupNo, DeviceNo), Tally>,
    changes: BTreeMap<GroupNo, i64>,
}

struct Found {
    device: DeviceNo,
    seq: i64,
    trade_start: i64,
    trade_no: Option<String>,
    sale_at: Option<UnixMs>,
    kept: Kept,
}

impl Intake<'_> {
    fn take(&mut self, order: &Incoming, owned: Option<&Ownership>) -> Result<Outcome, Error> {
        let Some(owned) = owned else {
            return Ok(reject("deviceCode", &format!("no device {} is known", order.device_code)));
        };
        let Some(group) = owned.owner_at(order.trade_start) else {
            return Ok(reject("deviceCode", "the device has no owner"));
        };
        if let Some(found) = self.find(group, &order.order_id)? {
            return self.change(order, owned, group, found);
        }
        if let Some(other) = self.other_owner(order, owned, group)? {
            return Ok(other);
        }
        if let Some(taken) = self.trade_no_in_taken(order, group)? {
            return Ok(taken);
        }
        self.add(order, owned, group)?;
        Ok(Outcome::Accepted)
    }

    fn find(&self, group: GroupNo, order_id: &OrderId) -> Result<Option<Found>, Error> {
        self.write.one(&KNOWN, &[group.0.into(), order_id.as_str().into()], |row| {
            let record = Record {
                shape: row.int(3)?,
                head: row.text(4)?.to_owned(),
                lines: row.text(5)?.to_owned(),
                errors: row.maybe_text(6)?.map(str::to_owned),
            };
            let kept = Kept { trade_no_in: row.maybe_text(2)?.map(str::to_owned), record };
            let (device, seq) = (DeviceNo(row.int(0)?), row.int(1)?);
            let (trade_start, trade_no) = (row.int(7)?, row.maybe_text(8)?.map(str::to_owned));
            let sale_at = row.maybe_int(9)?.map(UnixMs);
            Ok(Found { device, seq, trade_start, trade_no, sale_at, kept })
        })
    }

    /// An update may change neither the device nor the owning group.
    fn other_owner(
        &self,
        order: &Incoming,
        owned: &Ownership,
        group: GroupNo,
    ) -> Result<Option<Outcome>, Error> {
        for former in owned.groups().into_iter().filter(|former| *former != group) {
            let found = self.find(former, &order.order_id)?;
            if found.is_some_and(|found| found.device == owned.device) {
                let reason = format!(
                    "order {} is kept for group {}, and by this time it would be group {}'s; \
                     an update may not change the owning group",
                    order.order_id,
                    self.name(&GROUP_ID, former.0)?,
                    self.name(&GROUP_ID, group.0)?,
                );
                return Ok(Some(reject("tradeStartTime", &reason)));
            }
        }
        Ok(None)
    }

    fn trade_no_in_taken(
        &self,
        order: &Incoming,
        group: GroupNo,
    ) -> Result<Option<Outcome>, Error> {
        let Some(number) = &order.trade_no_in else { return Ok(None) };
        if order_id_of(number.as_str()).is_some() {
            let reason = format!("{number} is the derived number of another order");
            return Ok(Some(reject("tradeNoIn", &reason)));
        }
        let params = [group.0.into(), number.as_str().into()];
        let holder = self
            .write
            .one(&HOLDER_OF_TRADE_NO_IN, &params, |row| Ok(row.text(0)?.to_owned()))?
            .filter(|holder| holder != order.order_id.as_str());
        Ok(holder.map(|holder| reject("tradeNoIn", &format!("{number} is that of order {holder}"))))
    }

    fn change(
        &mut self,
        order: &Incoming,
        owned: &Ownership,
        group: GroupNo,
        found: Found,
    ) -> Result<Outcome, Error> {
        if found.device != owned.device {
            let reason = format!(
                "order {} is kept for device {}, not {}; an update may not change the device",
                order.order_id,
                self.name(&DEVICE_CODE, found.device.0)?,
                order.device_code,
            );
            return Ok(reject("deviceCode", &reason));
        }
        if let Some(taken) = self.trade_no_in_taken(order, group)? {
            return Ok(taken);
        }
        let record = self.shape.settle(order, &found.kept)?;
        let trade_no = order.trade_no.as_ref().map(TradeNo::as_str);
        let told = order.trade_no_in.as_ref().map(TradeNo::as_str);
        let trade_no_in = told.or(found.kept.trade_no_in.as_deref());
        let sale_at = order.sale.as_ref().map(|sale| sale.at);
        // The record may look the same: it writes an hour that a clock shows twice like one.
        let same = record == found.kept.record
            && order.trade_start.0 == found.trade_start
            && sale_at == found.sale_at
            && trade_no == found.trade_no.as_deref()
            && trade_no_in == found.kept.trade_no_in.as_deref();
        if same {
            return Ok(Outcome::Unchanged);
        }
        let params = [
            group.0.into(),
            owned.device.0.into(),
            found.seq.into(),
            order.trade_start.0.into(),
            self.next_change(group)?.into(),
            trade_no.into(),
            trade_no_in.into(),
            record.shape.into(),
            record.head.as_str().into(),
            record.lines.as_str().into(),
            record.errors.as_deref().into(),
            sale_at.map(|at| at.0).into(),
        ];
        self.write.execute(&CHANGE, &params)?;
        self.tally(group, owned.device, order)?;
        if let Some(at) = found.sale_at {
            let was = &found.kept.record;
            let was = self.shape.sale(was.head.as_bytes(), was.lines.as_bytes(), at)?;
            self.sums.count(self.zone, (group, owned.device), &was, Change::Leaves);
        }
        self.sell(group, owned.device, order.sale.as_ref());
        Ok(Outcome::Updated)
    }

    fn add(&mut self, order: &Incoming, owned: &Ownership, group: GroupNo) -> Result<(), Error> {
        let tally = self.tally(group, owned.device, order)?;
        tally.last_seq += 1;
        let seq = tally.last_seq;
        let record = &order.record;
        let params: [Value<'_>; 13] = [
            group.0.into(),
            owned.device.0.into(),
            seq.into(),
            order.trade_start.0.into(),
            self.next_change(group)?.into(),
            order.order_id.as_str().into(),
            order.trade_no.as_ref().map(TradeNo::as_str).into(),
            order.trade_no_in.as_ref().map(TradeNo::as_str).into(),
            record.shape.into(),
            record.head.as_str().into(),
            record.lines.as_str().into(),
            record.errors.as_deref().into(),
            order.sale.as_ref().map(|sale| sale.at.0).into(),
        ];
        self.write.execute(&ADD, &params)?;
        self.sell(group, owned.device, order.sale.as_ref());
        Ok(())
    }

    fn sell(&mut self, group: GroupNo, device: DeviceNo, sale: Option<&Sale>) {
        if let Some(sale) = sale {
            self.sums.count(self.zone, (group, device), sale, Change::Comes);
            self.sums.name(group, sale);
        }
    }

    /// The device's ledger, moved by the order's activity: an order counts at its trade's start.
    fn tally(
        &mut self,
        group: GroupNo,
        device: DeviceNo,
        order: &Incoming,
    ) -> Result<&mut Tally, Error> {
        use std::collections::btree_map::Entry;
        let tally = match self.devices.entry((group, device)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let code = order.device_code.as_str();
                let params = [group.0.into(), code.into()];
                let read =
                    self.write.one(&LEDGER, &params, |row| Ok((row.int(0)?, row.maybe_int(1)?)))?;
                let (last_seq, last_active) = read.ok_or_else(|| {
                    Error::Data(format!("device {code} has no ledger in its owner's group"))
                })?;
                new.insert(Tally { code: code.to_owned(), last_seq, last_active })
            }
        };
        let active = order.trade_start.0.min(self.now.0);
        tally.last_active = Some(tally.last_active.map_or(active, |last| last.max(active)));
        Ok(tally)
    }

    fn next_change(&mut self, group: GroupNo) -> Result<i64, Error> {
        use std::collections::btree_map::Entry;
        let last = match self.changes.entry(group) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let read = self.write.one(&CHANGES, &[group.0.into()], |row| row.int(0))?;
                new.insert(read.ok_or_else(|| {
                    Error::Data(format!("group {} has no change counter", group.0))
                })?)
            }
        };
        *last += 1;
        Ok(*last)
    }

    fn settle_accounts(&self) -> Result<(), Error> {
        for ((group, _), tally) in &self.devices {
            let params = [
                group.0.into(),
                tally.code.as_str().into(),
                tally.last_seq.into(),
                tally.last_active.into(),
            ];
            self.write.execute(&SET_LEDGER, &params)?;
        }
        for (group, last) in &self.changes {
            self.write.execute(&SET_CHANGES, &[group.0.into(), (*last).into()])?;
        }
        self.sums.write(self.write)
    }

    fn name(&self, sql: &'static crate::sql::Sql, number: i64) -> Result<String, Error> {
        let name = self.write.one(sql, &[number.into()], |row| Ok(row.text(0)?.to_owned()))?;
        Ok(name.unwrap_or_default())
    }
}

fn reject(field: &str, reason: &str) -> Outcome {
    Outcome::Rejected(format!("{field}: {reason}"))
}
