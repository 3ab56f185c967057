//! Migrations of the layout. A released migration is never edited: its checksum is stored with its
//! number, and a program whose migration has another checksum refuses the data.

use kiosque_model::UnixMs;
use sha2::{Digest, Sha256};

use crate::db::Write;
use crate::sql::{row, statements};
use crate::{Error, WhenAbsent};

struct Migration {
    number: i64,
    name: &'static str,
    text: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, name: "first", text: include_str!("../migrations/0001_first.sql") },
    Migration { number: 2, name: "sums", text: include_str!("../migrations/0002_sums.sql") },
    Migration {
        number: 3,
        name: "operator",
        text: include_str!("../migrations/0003_operator.sql"),
    },
    Migration { number: 4, name: "nodes", text: include_str!("../migrations/0004_nodes.sql") },
    Migration {
        number: 5,
        name: "remembered",
        text: include_str!("../migrations/0005_remembered.sql"),
    },
    Migration { number: 6, name: "names", text: include_str!("../migrations/0006_names.sql") },
    Migration {
        number: 7,
        name: "device_lists",
        text: include_str!("../migrations/0007_device_lists.sql"),
    },
    Migration {
        number: 8,
        name: "order_blocks",
        text: include_str!("../migrations/0008_order_blocks.sql"),
    },
    Migration { number: 9, name: "months", text: include_str!("../migrations/0009_months.sql") },
    Migration {
        number: 10,
        name: "audit_details",
        text: include_str!("../migrations/0010_audit_details.sql"),
    },
    Migration { number: 11, name: "runs", text: include_str!("../migrations/0011_runs.sql") },
    Migration {
        number: 12,
        name: "free_products",
        text: include_str!("../migrations/0012_free_products.sql"),
    },
    Migration {
        number: 13,
        name: "device_counts",
        text: include_str!("../migrations/0013_device_counts.sql"),
    },
    Migration {
        number: 14,
        name: "aisle_texts",
        text: include_str!("../migrations/0014_aisle_texts.sql"),
    },
    Migration {
        number: 15,
        name: "devices_version",
        text: include_str!("../migrations/0015_devices_version.sql"),
    },
    Migration { number: 16, name: "console", text: include_str!("../migrations/0016_console.sql") },
    Migration {
        number: 17,
        name: "active_imports",
        text: include_str!("../migrations/0017_active_imports.sql"),
    },
    Migration {
        number: 18,
        name: "list_versions",
        text: include_str!("../migrations/0018_list_versions.sql"),
    },
    Migration { number: 19, name: "refused", text: include_str!("../migrations/0019_refused.sql") },
    Migration {
        number: 20,
        name: "arrivals",
        text: include_str!("../migrations/0020_arrivals.sql"),
    },
    Migration {
        number: 21,
        name: "ledgers_of_devices",
        text: include_str!("../migrations/0021_ledgers_of_devices.sql"),
    },
    Migration {
        number: 22,
        name: "histories",
        text: include_str!("../migrations/0022_histories.sql"),
    },
];

row! {
    struct Applied { number: i64, checksum: String }
}

statements! {
    RECORD(number, name, checksum, applied_at_ms) = "insert into migrations
            (number, name, checksum, applied_at_ms)
        values ($number, $name, $checksum, $applied_at_ms)";
    APPLIED() -> Applied = "select number, checksum from migrations order by number";
}

/// Creates the table of migrations.
pub(crate) const CREATE_REGISTER: &str = "create table if not exists migrations (
    number bigint primary key,
    name text not null,
    checksum text not null,
    applied_at_ms bigint not null
)";

/// The table of migrations, which every database of this program has.
pub(crate) const REGISTER: &str = "migrations";

/// The migration after which the sums of the stored orders must be computed.
pub(crate) const SUMS: i64 = 2;
/// The migration after which the device lists of the groups must be made.
pub(crate) const DEVICE_LISTS: i64 = 7;
/// The migration after which the elements of the hierarchy of aisles must be made, also those that
/// an earlier layout has: older programs may have left them out of date.
pub(crate) const AISLE_TEXTS: i64 = 18;

/// Returns the number of the last migration.
pub(crate) fn layout() -> i64 {
    MIGRATIONS.last().map_or(0, |last| last.number)
}

/// Returns the text of every migration, for tests of the layout.
#[cfg(test)]
pub(crate) fn texts() -> String {
    MIGRATIONS.iter().map(|migration| migration.text).collect()
}

/// Runs the migrations that have not run yet, all or none, and returns their numbers.
pub(crate) async fn up(
    write: &Write<'_>,
    when_absent: WhenAbsent,
    now: UnixMs,
) -> Result<Vec<i64>, Error> {
    write.take_layout_lock().await?;
    write.script(CREATE_REGISTER).await?;
    let done: Vec<Applied> = write.all(&APPLIED, &[], |row| row.read()).await?;
    if done.is_empty() && when_absent == WhenAbsent::Refuse {
        return Err(Error::NoData);
    }
    for Applied { number, checksum } in &done {
        let known = MIGRATIONS.iter().find(|migration| migration.number == *number);
        match known {
            Some(known) if checksum_of(known.text) == *checksum => {}
            Some(known) => {
                return Err(Error::Data(format!(
                    "migration {number} ({}) of this data is not the one of this program",
                    known.name
                )));
            }
            None => {
                return Err(Error::Data(format!(
                    "this data was made by a newer program (migration {number} is unknown here)"
                )));
            }
        }
    }
    let new = MIGRATIONS.get(done.len()..).unwrap_or_default();
    for migration in new {
        write.script(migration.text).await?;
        let checksum = checksum_of(migration.text);
        let params =
            [migration.number.into(), migration.name.into(), checksum.as_str().into(), now.into()];
        write.execute(&RECORD, &params).await?;
    }
    Ok(new.iter().map(|migration| migration.number).collect())
}

fn checksum_of(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
