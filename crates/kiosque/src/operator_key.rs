//! `kiosque operator-key`

use std::io::{self, Write};

use anyhow::{Context, bail};
use kiosque_clock::Entropy;
use kiosque_model::{KeyEntry, KeyName, OperatorKey, Rights, Zone};
use kiosque_store::{CreatedKey, KeyHolder, Store};
use serde_json::{Value, json};

use crate::args::KeyWhat;
use crate::output::{Format, Output, print_line, time};
use crate::settings::Settings;
use crate::table::Table;
use crate::{acting, open};

pub(crate) async fn run(settings: &Settings, what: KeyWhat) -> anyhow::Result<()> {
    let store = open::store(settings).await?;
    match what {
        KeyWhat::Create { name, may } => {
            create(&store, parsed(name)?, may.unwrap_or_else(Rights::all)).await
        }
        KeyWhat::List { json, output } => {
            let keys = store.operators().keys().await?;
            let output = if json { Output { output: Format::Json } } else { output };
            output.print(&json_of(&keys), |_| table(&keys, store.zone()))
        }
        KeyWhat::Revoke { name } => revoke(&store, parsed(name)?).await,
    }
}

fn parsed(name: String) -> anyhow::Result<KeyName> {
    KeyName::parse(name).context("the key's name")
}

/// Prints only the key. It cannot be printed again: only its digest is stored.
async fn create(store: &Store, name: KeyName, rights: Rights) -> anyhow::Result<()> {
    let key = OperatorKey::mint(Entropy::system().bytes()?);
    let holder = KeyHolder { name: name.clone(), rights };
    match store
        .operators()
        .create_key(holder, key.digest(), acting::by("operator-key create"))
        .await?
    {
        // Unlike elsewhere, it is an error if the reader has gone.
        CreatedKey::Created => {
            writeln!(io::stdout().lock(), "{}", key.reveal()).with_context(|| {
                format!("the key {name} cannot be printed; revoke it, and create another one")
            })
        }
        CreatedKey::NameTaken(since) => {
            let since = store.zone().text(since);
            let zone = store.zone();
            bail!(
                "a key named {name} has existed since {since} {zone}; revoke it, or choose another \
                 name"
            )
        }
    }
}

async fn revoke(store: &Store, name: KeyName) -> anyhow::Result<()> {
    match store.operators().revoke_key(name.clone(), acting::by("operator-key revoke")).await? {
        true => print_line!("revoked {name}"),
        false => bail!("there is no active key named {name}"),
    }
}

fn table(keys: &[KeyEntry], zone: &Zone) -> Table {
    Table::of(["NAME", "RIGHTS", "CREATED", "REVOKED"], keys, |key| {
        let revoked = time(zone, key.revoked_at.map(|at| at.0));
        let (name, rights) = (key.name.to_string(), key.rights.to_string());
        [name, rights, zone.text(key.created_at), revoked]
    })
}

fn json_of(keys: &[KeyEntry]) -> Value {
    let keys = keys.iter().map(|key| {
        json!({
            "name": key.name.as_str(),
            "may": key.rights.iter().map(|right| right.name()).collect::<Vec<_>>(),
            "createdTimestamp": key.created_at.0,
            "revokedTimestamp": key.revoked_at.map(|at| at.0),
        })
    });
    keys.collect()
}
