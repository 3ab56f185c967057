//! `kiosque import list`

use kiosque_clock::Clock;
use kiosque_contract::AuditDetails;
use kiosque_contract::inventory::{ImportItem, ImportState};
use kiosque_model::Zone;
use kiosque_store::WhenAbsent;

use crate::output::{self, Output, time};
use crate::settings::Settings;
use crate::table::{ABSENT, Table};
use crate::{CommandOutcome, open};

pub(crate) async fn run(settings: &Settings, output: Output) -> anyhow::Result<CommandOutcome> {
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let now = Clock::System.now();
    let imports = output::whole(async |part| store.intake().imports(part, now).await).await?;
    output.print(&imports, |imports| table(imports, store.zone()))?;
    Ok(CommandOutcome::Complete)
}

/// Returns a row for each import, and one for each group of an import with orders of several
/// groups.
fn table(imports: &[ImportItem], zone: &Zone) -> Table<11> {
    let mut table = Table::new([
        "ID",
        "BEGUN",
        "ENDED",
        "USER",
        "FILE",
        "MAPPING",
        "GROUP",
        "ACCEPTED",
        "UPDATED",
        "UNCHANGED",
        "REJECTED",
    ]);
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| ABSENT.to_owned());
    let number = |count: Option<u64>| count.map_or(ABSENT.to_owned(), |count| count.to_string());
    for import in imports {
        let AuditDetails { user, uid, file, mapping, groups, .. } = &import.details;
        let AuditDetails { accepted, updated, unchanged, rejected, .. } = &import.details;
        let user = user.clone().or_else(|| uid.map(|uid| uid.to_string()));
        let group = match groups.as_slice() {
            [only] => only.group_id.clone(),
            [] => ABSENT.to_owned(),
            groups => format!("all {}", groups.len()),
        };
        table.add([
            import.import_id.clone(),
            time(zone, Some(import.started_timestamp)),
            ended(import, zone),
            text(&user),
            text(file),
            text(mapping),
            group,
            number(*accepted),
            number(*updated),
            number(*unchanged),
            number(*rejected),
        ]);
        for group in groups.iter().filter(|_| groups.len() > 1) {
            let [begun, ended, user, file, mapping] = [const { String::new() }; 5];
            table.add([
                import.import_id.clone(),
                begun,
                ended,
                user,
                file,
                mapping,
                group.group_id.clone(),
                group.accepted.to_string(),
                group.updated.to_string(),
                group.unchanged.to_string(),
                ABSENT.to_owned(),
            ]);
        }
    }
    table
}

fn ended(import: &ImportItem, zone: &Zone) -> String {
    match (import.state, import.ended_timestamp) {
        (ImportState::Running, _) => "running".to_owned(),
        (ImportState::Complete, at) => time(zone, at),
        (ImportState::Interrupted, None) => "interrupted".to_owned(),
        (ImportState::Interrupted, at) => format!("interrupted {}", time(zone, at)),
    }
}
