//! Copies the orders of all groups of an account into `orders.db`. Run again, it adds the changes.
//!
//! The account is specified by the variables `KIOSQUE_REMOTE_URL`, `KIOSQUE_REMOTE_USERNAME`,
//! `KIOSQUE_REMOTE_PASSWORD_FILE` and, for a certificate that the system does not trust,
//! `KIOSQUE_REMOTE_CA_FILE`.

use std::env;
use std::error::Error;
use std::fs::read_to_string;
use std::path::Path;
use std::time::Duration;

use kiosque_client::{Account, Password, Position, Profile};
use rusqlite::{Connection, OptionalExtension};

const TABLES: &str = "
    create table if not exists cursors (group_id primary key, cursor);
    create table if not exists orders (group_id, id, record, primary key (group_id, id));";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let variable = |name: &str| env::var(format!("KIOSQUE_REMOTE_{name}"));
    let file = variable("PASSWORD_FILE")?;
    let password = Password::read_by(move || {
        let text = read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
        Ok(text.trim_end().to_owned())
    });
    let mut profile = Profile::new(&variable("URL")?, &variable("USERNAME")?, password)?;
    if let Ok(file) = variable("CA_FILE") {
        profile = profile.ca_file(Path::new(&file))?;
    }
    copy(Account::open(profile)?, Connection::open("orders.db")?).await
}

pub(crate) async fn copy(account: Account, mut db: Connection) -> Result<(), Box<dyn Error>> {
    db.execute_batch(TABLES)?;
    for group in account.groups().await? {
        let cursor = "select cursor from cursors where group_id = ?";
        let cursor: Option<String> =
            db.query_row(cursor, [&group.id], |row| row.get(0)).optional()?;
        let position = match cursor {
            Some(cursor) => serde_json::from_str(&cursor)?,
            None => Position::default(),
        };
        let mut changes = account.group(&group.id)?.changes(position);
        loop {
            let read = changes.read(Duration::ZERO).await?;
            if read.is_empty() {
                break;
            }
            // The orders and the cursor in one transaction.
            let transaction = db.transaction()?;
            for order in read.iter().map(|change| &change.order) {
                let row = (&group.id, order.id(), order.json().to_string());
                transaction.execute("replace into orders values (?, ?, ?)", row)?;
            }
            let row = (&group.id, serde_json::to_string(changes.position())?);
            transaction.execute("replace into cursors values (?, ?)", row)?;
            transaction.commit()?;
        }
    }
    Ok(())
}
