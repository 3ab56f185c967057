//! `kiosque demo`: creates a fleet with sixty days of orders, serves it and prints example calls.

pub(crate) mod fleet;
mod kiosks;
pub(crate) mod orders;
mod products;
mod random;
mod rates;
mod rhythm;
mod sites;
mod trade;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use anyhow::{Context, bail};
use jiff::ToSpan;
use jiff::civil::Date;
use kiosque_clock::{Clock, Entropy};
use kiosque_ingest::import::{ImportObserver, Progress, import_orders};
use kiosque_ingest::rejected::Rejected;
use kiosque_listener::tls::Identity;
use kiosque_model::{ActedBy, UnixMs};
use kiosque_server::Audience;
use kiosque_store::{ServerLock, Store, WhenAbsent, create_directory, data_files, has_data};

use crate::progress::ImportBar;
use crate::settings::Settings;
use crate::{CommandOutcome, open, serve};

/// Metadata entry that marks the data as a demo's, with its edition and last day.
const MARKER: &str = "demo";
/// Value of the entry while the data is incomplete.
const BUILDING: &str = "being made";
/// Version of the generated data; data of another edition is generated again.
const EDITION: u32 = 2;

pub(crate) async fn run(settings: Settings, today: Option<Date>) -> anyhow::Result<CommandOutcome> {
    if settings.common.store.is_some() {
        bail!("a demo keeps its data in a directory: remove --store");
    }
    let directory = settings.common.data.clone().map_or_else(default_directory, Ok)?;
    create_directory(&directory)?;
    let server = settings.server()?;
    refuse_others(&directory, &settings).await?;
    let _lock = ServerLock::take(&directory, "demo")?;
    let gateway = serve::listen(&directory, &settings.serve).await?;
    if settings.gives("operator_listen") {
        eprintln!("warning: a demo has no operator listener; operator_listen is ignored");
    }
    let store = filled(&directory, &settings, today).await?;
    serve::warn_of_access(&directory);
    print_calls(&format!("https://{}/v8", gateway.listener.address()?), &gateway.identity)?;
    serve::serve(vec![(Audience::Gateway, gateway.listener)], store, server).await?;
    Ok(CommandOutcome::Complete)
}

/// Returns a fixed directory of the user, so that the next demo finds the data of this one.
fn default_directory() -> anyhow::Result<PathBuf> {
    let base =
        std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|base| base.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    let base = base.or_else(home).context("HOME is not set; choose a directory with --data DIR")?;
    Ok(base.join("kiosque-demo"))
}

/// Fails if the directory holds data that is not a demo's.
async fn refuse_others(directory: &Path, settings: &Settings) -> anyhow::Result<()> {
    let there = has_data(directory)?;
    if there
        && opened(directory, settings, WhenAbsent::Refuse).await?.marker(MARKER).await?.is_none()
    {
        bail!(
            "{} holds data that is not a demo's; choose another directory with --data DIR",
            directory.display()
        );
    }
    Ok(())
}

async fn opened(
    directory: &Path,
    settings: &Settings,
    when_absent: WhenAbsent,
) -> anyhow::Result<Store> {
    let server = settings.server()?;
    open::store_in(directory, settings, when_absent, server.limits.store_wait).await
}

/// Opens the demo's data; generates it first, unless it is there and ends on the right day.
async fn filled(
    directory: &Path,
    settings: &Settings,
    today: Option<Date>,
) -> anyhow::Result<Store> {
    let store = opened(directory, settings, WhenAbsent::Create).await?;
    let now = Clock::System.now();
    let real_today = store.zone().civil(now).date();
    let day = today.unwrap_or(real_today);
    let complete = format!("{day}, edition {EDITION}");
    if store.marker(MARKER).await?.as_deref() == Some(complete.as_str()) {
        return Ok(store);
    }
    drop(store);
    for path in data_files(directory) {
        if path.exists() {
            std::fs::remove_file(&path).with_context(|| path.display().to_string())?;
        }
    }
    let store = opened(directory, settings, WhenAbsent::Create).await?;
    store.set_marker(MARKER, BUILDING).await?;
    // Today's orders end now; other days are complete.
    let until = if day == real_today { now } else { UnixMs::MAX };
    fill(&store, day, until).await?;
    store.set_marker(MARKER, &complete).await?;
    Ok(store)
}

async fn fill(store: &Store, day: Date, until: UnixMs) -> anyhow::Result<()> {
    // The clock shows the end of the last day, or the present time of that day.
    let day_end = store.zone().resolve(day.saturating_add(1.day()).at(0, 0, 0, 0))?;
    let clock = Clock::Manual(Arc::new(AtomicI64::new(until.min(day_end).0)));
    // The devices are created before their first orders.
    let before = day.saturating_sub(i64::from(orders::DAYS).days());
    let set_up = store.zone().resolve(before.at(12, 0, 0, 0))?;
    let (fleet, by) = (fleet::fleet(), ActedBy::command(set_up));
    kiosque_ingest::fleet::apply(store, fleet, &Entropy::system(), by).await?;
    store.set_rates(rates::rates(day)).await?;
    let orders = orders::orders(store.zone(), day, until);
    let mut filling = Filling(ImportBar::new());
    let imported = import_orders(store, &clock, orders, &mut filling).await?;
    filling.0.finish();
    eprintln!("made {} orders, the last on {day}", imported.accepted);
    Ok(())
}

/// Shows the progress; a rejection of a generated order is an error.
struct Filling(ImportBar);

impl ImportObserver for Filling {
    fn rejected(&mut self, rejected: &Rejected) -> std::io::Result<()> {
        Err(std::io::Error::other(rejected.reason.clone()))
    }

    fn progress(&mut self, progress: Progress) {
        self.0.show(progress);
    }
}

fn print_calls(base: &str, identity: &Identity) -> anyhow::Result<()> {
    let cert = std::path::absolute(&identity.cert)?;
    let cert = cert.display();
    let account = &fleet::ACCOUNTS[0];
    println!("base URL   {base}");
    println!("account    {}  password {}", account.login_name, account.password);
    for other in &fleet::ACCOUNTS[1..] {
        println!("also       {}  ({})", other.login_name, other.shows);
    }
    println!(
        r#"
# paste these
BASE={base}
CERT='{cert}'
API=third-center-web/openapi/v1
call() {{
  curl --silent --show-error --cacert "$CERT" -H 'Content-Type: application/json' \
    -H "third-api-token: $TOKEN" "$BASE/$1" -d "$2"; echo
}}
TOKEN=$(call platform-auth/auth/third-api/token \
  '{{"username":"{login}","password":"{password}"}}' |
  sed 's/.*"accessToken":"\([^"]*\)".*/\1/')
call "$API/kioskDevice/devicePage?current=1&size=2" '{{}}'
call "$API/kioskOrder/queryOrderList?current=1&size=1" '{{"deviceCode":"{device}"}}'
call "$API/kioskDashboard/summary" '{{}}'
"#,
        login = account.login_name,
        password = account.password,
        device = fleet::FIRST_DEVICE,
    );
    Ok(())
}
