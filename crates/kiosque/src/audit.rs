//! `kiosque audit`

use anyhow::{Context, anyhow};
use kiosque_contract::AuditEntry;
use kiosque_model::Zone;
use kiosque_model::audit::AuditEvent;
use kiosque_store::{AuditPage, AuditQuery, Store};

use crate::args::AuditArgs;
use crate::open;
use crate::output::time;
use crate::settings::Settings;
use crate::table::{Table, cell};

/// Entries that one read returns.
const PART: usize = 1_000;

pub(crate) async fn run(settings: &Settings, args: AuditArgs) -> anyhow::Result<()> {
    let store = open::store(settings).await?;
    let entries = entries(&store, &args).await?;
    args.output.print(&entries, |entries| table(entries, store.zone()))
}

/// Returns the newest entries that the arguments select, the newest first.
async fn entries(store: &Store, args: &AuditArgs) -> anyhow::Result<Vec<AuditEntry>> {
    let mut query = AuditQuery {
        account: args.account.clone(),
        event: args.event.as_deref().map(event).transpose()?,
        source: args.source.as_deref().map(str::parse).transpose().context("--source")?,
        ..AuditQuery::latest(PART)
    };
    let since = args.since.as_deref().map(|text| store.zone().parse_time_or_date(text));
    query.since = since.transpose().context("--since")?;
    let mut all = Vec::new();
    while all.len() < args.limit {
        query.limit = PART.min(args.limit - all.len());
        let AuditPage { entries, next } = store.trail().entries(query.clone()).await?;
        all.extend(entries);
        query.before = next;
        if query.before.is_none() {
            break;
        }
    }
    Ok(all)
}

fn event(name: &str) -> anyhow::Result<AuditEvent> {
    name.parse().map_err(|_| {
        let names: Vec<&str> = AuditEvent::ALL.iter().map(|event| event.name()).collect();
        anyhow!("--event: {name:?} is not an event; the events are {}", names.join(", "))
    })
}

fn table(entries: &[AuditEntry], zone: &Zone) -> Table {
    let header = ["TIME", "EVENT", "ACCOUNT", "ACTOR", "SOURCE", "COUNT", "DETAIL"];
    Table::of(header, entries, |entry| {
        [
            time(zone, Some(entry.timestamp)),
            entry.event.to_string(),
            cell(entry.account.as_ref()),
            cell(entry.actor_with_user()),
            cell(entry.source.as_ref()),
            entry.count.to_string(),
            cell(entry.detail.as_ref()),
        ]
    })
}
