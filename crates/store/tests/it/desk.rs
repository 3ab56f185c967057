//! A desk to test at: a store in a folder, words for fleets and orders, and a look at the rows
//! behind it.

use std::sync::Arc;
use std::time::Duration;

use kiosque_model::fleet::{AccountEntry, Aisle, DeviceEntry, Fleet, GroupEntry, ProductEntry};
use kiosque_model::order::ShipmentStatus;
use kiosque_model::sales::{Sale, Sold};
use kiosque_model::{ActedBy, Currency, DeviceCode, GroupId, LoginName, Minor, OrderId, Origin};
use kiosque_model::{PageAsk, Presented, TradeNo, UnixMs, Zone};
use kiosque_store::{
    Applied, ApplyError, Error, History, Incoming, Kept, NewHashes, Opening, OrderAsk, Outcome,
    Owners, Ready, Record, RecordShape, Refused, Store, WhenAbsent,
};
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

pub(crate) const NOW: UnixMs = UnixMs(1_000_000);
const LATE: UnixMs = UnixMs(i64::MAX / 2);

pub(crate) struct Desk {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        let folder = TempDir::new().unwrap();
        let store = open(&folder, None).unwrap();
        Desk { folder, store }
    }

    /// With groups `a` and `b`, a product `p`, and an account `ops` of both groups.
    pub(crate) async fn furnished() -> Desk {
        let desk = Desk::new();
        let fleet = Fleet {
            groups: vec![group("a"), group("b")],
            accounts: vec![account("ops", &["a", "b"])],
            products: vec![product("p")],
            devices: vec![device("d1", "a"), device("d2", "a"), device("e1", "b")],
        };
        desk.apply(fleet).await.unwrap();
        desk
    }

    pub(crate) async fn apply(&self, fleet: Fleet) -> Result<Applied, ApplyError> {
        self.apply_at(fleet, NOW).await
    }

    /// Every account that is not known yet has the hash `hash of NAME`.
    pub(crate) async fn apply_at(&self, fleet: Fleet, now: UnixMs) -> Result<Applied, ApplyError> {
        let new = fleet.accounts.iter().map(|account| &account.login_name);
        let new = new.filter(|name| self.store.credentials(name).unwrap().is_none());
        let hashes: NewHashes =
            new.map(|name| (name.to_string(), format!("hash of {name}"))).collect();
        self.store.apply(fleet, hashes, ActedBy::command(now)).await
    }

    /// Applies what must have a fault, and returns the faults; nothing may have changed.
    pub(crate) async fn faults(&self, fleet: Fleet) -> Vec<String> {
        let before = self.rows();
        let Err(ApplyError::Faults(faults)) = self.apply(fleet).await else {
            panic!("a fleet with a fault was applied")
        };
        assert_eq!(self.rows(), before);
        faults
    }

    pub(crate) async fn take(&self, batch: Vec<Incoming>) -> Vec<Outcome> {
        self.store.receive(batch, Owners::default(), NOW).await.unwrap().0
    }

    /// Takes orders that are all new.
    pub(crate) async fn sell(&self, batch: Vec<Incoming>) {
        for outcome in self.take(batch).await {
            assert_eq!(outcome, Outcome::Accepted);
        }
    }

    pub(crate) async fn log_in(&self, name: &str) -> Result<Presented, Refused> {
        let name = LoginName::parse(name).unwrap();
        let credentials = self.store.credentials(&name).unwrap().unwrap();
        let opened =
            self.store.log_in(credentials, [7; 32], LATE, origin("127.0.0.1", NOW)).await?;
        Ok(Presented::read(opened.token.reveal().as_bytes()).unwrap())
    }

    pub(crate) async fn switch(&self, presented: Presented, group: &str) -> Presented {
        let group = GroupId::parse(group).ok();
        let origin = origin("127.0.0.1", NOW);
        let switched = self.store.switch_group(presented, group, [8; 32], LATE, origin).await;
        let opened = switched.unwrap();
        Presented::read(opened.token.reveal().as_bytes()).unwrap()
    }

    /// The heads of a device's orders in a group, newest first; `None` out of scope.
    pub(crate) async fn list(
        &self,
        group: &str,
        device: &str,
        history: History,
        now: UnixMs,
    ) -> Option<Vec<String>> {
        let session = self.log_in("ops").await.unwrap();
        let session = self.switch(session, group).await;
        let page = PageAsk::new(1, 1_000).unwrap();
        let device = DeviceCode::parse(device).ok();
        let ask = OrderAsk { device, history, span: None, page };
        let heads = |heads: &mut Vec<String>, ready: Ready<'_>| {
            heads.push(String::from_utf8(ready.head.to_vec()).unwrap());
            Ok(())
        };
        let (total, mut heads) = self.store.order_page(&session, now, ask, heads).await.ok()?;
        // They are read oldest first.
        heads.reverse();
        assert_eq!(usize::try_from(total).unwrap(), heads.len());
        Some(heads)
    }

    pub(crate) fn connection(&self) -> Connection {
        Connection::open(self.folder.path().join("kiosque.db")).unwrap()
    }

    /// Changes rows behind the store's back.
    pub(crate) fn tamper(&self, sql: &str) {
        assert!(self.connection().execute(sql, []).unwrap() > 0, "{sql} changes nothing");
    }

    /// The rows of a statement, each as text.
    pub(crate) fn ask(&self, sql: &str) -> Vec<String> {
        ask(&self.connection(), sql)
    }

    /// Every row of every table.
    pub(crate) fn rows(&self) -> Vec<String> {
        let connection = self.connection();
        let tables = ask(&connection, "select name from sqlite_schema where type = 'table'");
        let rows = tables.iter().flat_map(|table| {
            let rows = ask(&connection, &format!("select * from {table}"));
            rows.into_iter().map(move |row| format!("{table}: {row}"))
        });
        rows.collect()
    }
}

/// A request from an address.
pub(crate) fn origin(source: &str, at: UnixMs) -> Origin {
    Origin { source: source.parse().unwrap(), request_id: format!("r-{}", at.0), at }
}

pub(crate) fn open(folder: &TempDir, zone: Option<&Zone>) -> Result<Store, Error> {
    open_with(folder, zone, |order, _| Ok(order.record.clone()))
}

/// With a rule of its own for orders that come in again.
pub(crate) fn open_with(
    folder: &TempDir,
    zone: Option<&Zone>,
    settle: fn(&Incoming, &Kept) -> Result<Record, Error>,
) -> Result<Store, Error> {
    Store::open(&Opening {
        folder: folder.path(),
        when_absent: WhenAbsent::Create,
        zone,
        shape: Arc::new(TestShape { settle }),
        wait: Duration::from_secs(1),
        now: NOW,
    })
}

/// The shape of this desk's records: a sale is told by their lines, as [`sold`] writes them.
#[derive(Debug)]
pub(crate) struct TestShape {
    pub(crate) settle: fn(&Incoming, &Kept) -> Result<Record, Error>,
}

impl RecordShape for TestShape {
    fn settle(&self, incoming: &Incoming, kept: &Kept) -> Result<Record, Error> {
        (self.settle)(incoming, kept)
    }

    fn sale(&self, _: &[u8], lines: &[u8], at: UnixMs) -> Result<Sale, Error> {
        let text = std::str::from_utf8(lines).unwrap();
        let mut parts = text.split('|');
        let mut next = || parts.next().unwrap();
        next();
        let currency = Currency::parse(next()).unwrap();
        let mut number = || next().parse::<i64>().unwrap();
        let (amount, refund) = (Minor(number()), Minor(number()));
        let shipment = ShipmentStatus::of(number()).unwrap();
        let goods = parts.map(|line| {
            let mut parts = line.split(':');
            let goods_id = parts.next().unwrap().to_owned();
            let mut number = || parts.next().unwrap().parse::<i64>().unwrap();
            Sold { items: number(), amount: Minor(number()), goods_id, name: None }
        });
        Ok(Sale { at, currency, amount, refund, shipment, goods: goods.collect() })
    }

    fn renewed(&self, first_head: &[u8]) -> Result<(i64, String), Error> {
        Ok((1, String::from_utf8(first_head.to_vec()).unwrap()))
    }

    fn sale_time(&self, _: &[u8], lines: &[u8]) -> Result<Option<String>, Error> {
        let text = std::str::from_utf8(lines).unwrap();
        let paid = text.split('|').next().unwrap().parse().ok();
        Ok(paid.map(|ms| Zone::utc().text(UnixMs(ms))))
    }
}

/// An order that is a sale, with a record that tells so.
pub(crate) fn sold(order: Incoming, sale: Sale) -> Incoming {
    let (at, amount, refund) = (sale.at.0, sale.amount.0, sale.refund.0);
    let head = format!("{at}|{}|{amount}|{refund}|{}", sale.currency, sale.shipment.number());
    let lines = sale
        .goods
        .iter()
        .map(|sold| format!("|{}:{}:{}", sold.goods_id, sold.items, sold.amount.0));
    let lines = head + &lines.collect::<String>();
    let record = Record { lines, ..order.record };
    Incoming { sale: Some(sale), record, ..order }
}

fn ask(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        let cells = (0..columns).map(|column| Ok(text(row.get(column)?)));
        Ok(cells.collect::<rusqlite::Result<Vec<String>>>()?.join("|"))
    };
    statement.query_map([], row).unwrap().map(Result::unwrap).collect()
}

fn text(value: Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Integer(int) => int.to_string(),
        Value::Text(text) => text,
        other => format!("{other:?}"),
    }
}

pub(crate) fn group_id(id: &str) -> GroupId {
    GroupId::parse(id).unwrap()
}

pub(crate) fn group(id: &str) -> GroupEntry {
    GroupEntry { id: group_id(id), name: Some(format!("Group {id}")), active: None }
}

/// An account that may log in.
pub(crate) fn account(name: &str, groups: &[&str]) -> AccountEntry {
    let groups = groups.iter().map(|id| group_id(id)).collect();
    AccountEntry { third_party_api: Some(true), groups: Some(groups), ..known_account(name) }
}

/// An account of which nothing is told.
pub(crate) fn known_account(name: &str) -> AccountEntry {
    AccountEntry {
        login_name: LoginName::parse(name).unwrap(),
        display_name: None,
        password: None,
        third_party_api: None,
        enabled: None,
        groups: None,
    }
}

pub(crate) fn product(id: &str) -> ProductEntry {
    ProductEntry {
        id: id.to_owned(),
        name: Some(format!("Product {id}")),
        category: None,
        currency: Some(Currency::parse("EUR").unwrap()),
        default_price: None,
    }
}

pub(crate) fn device(code: &str, group: &str) -> DeviceEntry {
    let name = Some(format!("Device {code}"));
    DeviceEntry { name, group: Some(group_id(group)), ..known_device(code) }
}

/// A device of which nothing is told.
pub(crate) fn known_device(code: &str) -> DeviceEntry {
    DeviceEntry {
        code: DeviceCode::parse(code).unwrap(),
        name: None,
        group: None,
        since: None,
        model: None,
        address: None,
        enabled: None,
        aisles: None,
    }
}

pub(crate) fn aisle(code: &str, goods_id: &str, stock: i64) -> Aisle {
    Aisle {
        code: code.to_owned(),
        goods_id: goods_id.to_owned(),
        price: Minor(100),
        show_price: Minor(100),
        stock,
        capacity: 10,
        cabinet: "1".to_owned(),
        layer: 1,
        enabled: true,
        broken: false,
    }
}

/// An order whose head is its id.
pub(crate) fn order(id: &str, device: &str, trade_start: i64) -> Incoming {
    Incoming {
        device_code: DeviceCode::parse(device).unwrap(),
        order_id: OrderId::parse(id).unwrap(),
        trade_start: UnixMs(trade_start),
        trade_no: None,
        trade_no_in: None,
        nameless_lines: Vec::new(),
        sale: None,
        record: record(id),
    }
}

pub(crate) fn record(head: &str) -> Record {
    Record { shape: 1, head: head.to_owned(), lines: "[]".to_owned(), errors: None }
}

pub(crate) fn number(text: &str) -> Option<TradeNo> {
    Some(TradeNo::parse(text).unwrap())
}
