//! `kiosque demo`: creates a fleet with sixty days of orders, prints example calls, and serves it
//! while its kiosks send heartbeats and orders.

mod data;
mod flags;
mod fleet;
mod introduction;
mod kiosks;
mod live;
mod orders;
mod random;
mod rates;
mod trade;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Instant;

use anyhow::{Context, bail};
use jiff::civil::Date;
use kiosque_clock::{Clock, Entropy};
use kiosque_ingest::import::{ImportObserver, Progress, import_orders};
use kiosque_ingest::rejected::Rejected;
use kiosque_model::{ActedBy, Day, KeyName, OperatorKey, Rights, UnixMs, Zone};
use kiosque_server::{App, Audience};
use kiosque_store::{
    CreatedKey, KeyHolder, ServerLock, Store, WhenAbsent, create_directory, data_files, has_data,
    marker_of_unopened,
};

use crate::fault_proxy::Ending;
use crate::interrupt::{EndingSignals, Interrupt};
use crate::output::eprint_line;
use crate::progress::{Bar, time_taken};
use crate::serve::{Listeners, PortInUse};
use crate::settings::Settings;
use crate::{acting, console_link, fault_proxy, open, output, serve};
use flags::Time;
use introduction::Introduction;

pub(crate) use flags::DemoFlags;

/// Metadata entry that marks the data as a demo's, with its edition and last day.
const MARKER: &str = "demo";
/// Value of the entry while the data is incomplete.
const BUILDING: &str = "being made";
/// Version of the generated data; data of another edition is generated again.
const EDITION: u32 = 3;

pub(crate) async fn run(settings: Settings, flags: DemoFlags) -> anyhow::Result<()> {
    let time = flags.time();
    let interval = flags.interval()?;
    let today = flags.today;
    let faults = flags.faults.given();
    if settings.common.store.is_some() {
        bail!(
            "{}: a demo keeps its data in a directory, which --data can name; unset it",
            settings.source("store")
        );
    }
    let directory = settings.common.data.clone().map_or_else(default_directory, Ok)?;
    let server = settings.server()?;
    refuse_others(&directory)?;
    create_directory(&directory)?;
    let _lock = ServerLock::take(&directory, "demo")?;
    let Listeners { gateway, operator, identity, .. } =
        serve::listen(&directory, &settings, PortInUse::TakesFreePort).await?;
    let (store, signals) = filled(&directory, &settings, time, today).await?;
    let clock = time.clock();
    serve::warn_of_access(&directory);
    let (name, key) = new_key(&store, clock.now()).await?;
    let base = console_link::server_at(operator.address()?);
    let by = acting::by_at("demo", clock.now());
    let console_link = match time {
        Time::Virtual(_, speed) if speed > 1 => None,
        _ => console_link::create(&store, name.clone(), &base, by).await?,
    };
    let introduction = Introduction {
        gateway: console_link::server_at(gateway.address()?),
        operator: base,
        certificate: std::path::absolute(&identity.cert)?,
        directory: std::path::absolute(&directory)?,
        key,
        console_link,
        interval,
        time,
        faults: faults.as_ref().map(ToString::to_string),
    };
    output::print(&introduction)?;
    let end = serve::end(signals);
    let limits = server.limits.clone();
    let (listener, end): (_, Ending) = match faults {
        Some(faults) => {
            fault_proxy::before_server(gateway, faults, clock.clone(), limits, end).await?
        }
        None => (gateway, Box::pin(end)),
    };
    let listeners = [(Audience::Gateway, listener), (Audience::Operator, operator)];
    let app = Arc::new(App::new(store, server, clock, Entropy::system())?);
    let serving = serve::serve(Arc::clone(&app), listeners, end);
    let Some(interval) = interval else { return serving.await };
    let kiosks = live::Kiosks { app: &app, key: &name, start: time.start(), interval };
    tokio::select! {
        served = serving => served,
        never = live::run(kiosks) => match never {},
    }
}

/// Returns a key with all rights for the operator's calls, and its name. The key of the previous
/// demo is revoked.
async fn new_key(store: &Store, now: UnixMs) -> anyhow::Result<(KeyName, OperatorKey)> {
    let name = KeyName::parse("demo".to_owned()).context("the key's name")?;
    let key = OperatorKey::mint(Entropy::system().bytes()?);
    store.operators().revoke_key(name.clone(), acting::by_at("demo", now)).await?;
    let holder = KeyHolder { name: name.clone(), rights: Rights::all() };
    match store.operators().create_key(holder, key.digest(), acting::by_at("demo", now)).await? {
        CreatedKey::Created => Ok((name, key)),
        CreatedKey::NameTaken(_) => bail!("a key named demo was created meanwhile"),
    }
}

/// Returns a fixed directory of the user, so that the next demo finds the data of this one.
fn default_directory() -> anyhow::Result<PathBuf> {
    let base =
        std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|base| base.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    let base = base.or_else(home).context("HOME is not set; choose a directory with --data DIR")?;
    Ok(base.join("kiosque-demo"))
}

/// Fails if the directory contains data that is not a demo's, without changing it: opening it would
/// bring its layout up to date.
fn refuse_others(directory: &Path) -> anyhow::Result<()> {
    if has_data(directory)? && marker_of_unopened(directory, MARKER)?.is_none() {
        bail!(
            "{} contains data that is not a demo's; choose another directory with --data DIR",
            directory.display()
        );
    }
    Ok(())
}

/// Opens the demo's data; generates it first, unless it exists and ends on the right day. Also
/// returns the signals from then on. A virtual clock always begins with new data: the orders of an
/// earlier demo may be ahead of it.
async fn filled(
    directory: &Path,
    settings: &Settings,
    time: Time,
    today: Option<Date>,
) -> anyhow::Result<(Store, EndingSignals)> {
    let opened = async || open::store_to_serve(directory, settings, WhenAbsent::Create).await;
    let store = opened().await?;
    let now = time.start();
    let clock_day = store.zone().civil(now).date();
    let day = today.unwrap_or(clock_day);
    let complete = match time {
        Time::Real => format!("{day}, edition {EDITION}"),
        Time::Virtual(..) => format!("{day}, edition {EDITION}, of a virtual clock"),
    };
    let is_complete = store.upkeep().marker(MARKER).await?.as_deref() == Some(complete.as_str());
    if is_complete && time == Time::Real {
        return Ok((store, EndingSignals::receive()?));
    }
    drop(store);
    for path in data_files(directory) {
        if path.exists() {
            std::fs::remove_file(&path).with_context(|| path.display().to_string())?;
        }
    }
    let store = opened().await?;
    store.upkeep().set_marker(MARKER, BUILDING).await?;
    // Today's orders end now; other days are complete.
    let until = if day == clock_day { now } else { UnixMs::MAX };
    let signals = fill(&store, day, until).await?;
    store.upkeep().set_marker(MARKER, &complete).await?;
    Ok((store, signals))
}

/// Generates the data. Returns the signals from then on.
async fn fill(store: &Store, day: Date, until: UnixMs) -> anyhow::Result<EndingSignals> {
    let [set_up, day_end] = bounds(store.zone(), day);
    // The clock shows the end of the last day, or the current time of that day.
    let clock = Clock::Manual(Arc::new(AtomicI64::new(until.min(day_end).0)));
    let fleet = fleet::fleet();
    let by = ActedBy::command(set_up);
    let at_set_up = Clock::Manual(Arc::new(AtomicI64::new(set_up.0)));
    kiosque_ingest::fleet::apply(store, fleet, &at_set_up, &Entropy::system(), by).await?;
    store.fleet().set_rates(rates::rates(day)).await?;
    let orders = orders::orders(store.zone(), day, until);
    let bar = Bar::new("making orders");
    let shown = bar.clone();
    let _interrupt = Interrupt::receive(move || {
        shown.clear();
        eprint_line!(
            "interrupted: the data of the demo is incomplete; the next demo creates it again"
        );
    })?;
    // While the other ones are still received, so that none is lost in between.
    let signals = EndingSignals::receive()?;
    let begun = Instant::now();
    let imported = import_orders(store, &clock, orders, &mut Filling(bar.clone())).await;
    bar.clear();
    let orders = imported?.counts.accepted;
    let took = time_taken(begun.elapsed());
    eprint_line!("made {orders} orders, the last on {day}, in {took}");
    Ok(signals)
}

/// Returns when the devices are created, which is before their first orders, and when the last day
/// ends. A zone may skip midnight, or have it twice.
fn bounds(zone: &Zone, day: Date) -> [UnixMs; 2] {
    let day = Day::of(day);
    let first = zone.start_of(Day(day.0 + 1 - i64::from(orders::DAYS)));
    [first.plus_ms(-12 * 3_600_000), zone.start_of(day.next())]
}

/// Shows the progress; a rejection of a generated order is an error.
struct Filling(Bar);

impl ImportObserver for Filling {
    fn rejected(&mut self, rejected: &Rejected) -> std::io::Result<()> {
        Err(std::io::Error::other(rejected.reason.to_string()))
    }

    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        self.0.show_import(progress);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn a_demo_may_end_on_any_day_of_any_zone() {
        for (zone, day, ends) in [
            ("UTC", date(2026, 4, 23), "2026-04-24T00:00:00.000Z"),
            // Midnight is skipped, occurs twice, and is skipped with the whole day 60 days before.
            ("Africa/Cairo", date(2026, 4, 23), "2026-04-23T22:00:00.000Z"),
            ("America/Havana", date(2026, 10, 31), "2026-11-01T04:00:00.000Z"),
            ("Pacific/Apia", date(2012, 2, 28), "2012-02-28T10:00:00.000Z"),
        ] {
            let zone = Zone::named(zone).unwrap();
            let [set_up, day_end] = bounds(&zone, day);
            assert_eq!(day_end.rfc3339(), ends, "{zone}");
            let orders = orders::orders(&zone, day, UnixMs::MAX);
            let starts = || orders.iter().map(|order| order.trade_start);
            assert!(starts().min() > Some(set_up) && starts().max() < Some(day_end), "{zone}");
        }
    }
}
