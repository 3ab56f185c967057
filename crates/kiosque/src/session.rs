//! `kiosque session`

use anyhow::{Context, bail};
use kiosque_clock::Clock;
use kiosque_contract::inventory::SessionItem;
use kiosque_model::{LoginName, Zone};
use kiosque_store::EndedSession;

use crate::args::SessionWhat;
use crate::output::{self, Output, print_line, time};
use crate::settings::Settings;
use crate::table::{Table, cell};
use crate::{acting, open};

pub(crate) async fn run(settings: &Settings, what: SessionWhat) -> anyhow::Result<()> {
    match what {
        SessionWhat::List(output) => list(settings, output).await,
        SessionWhat::End { account } => end(settings, account).await,
    }
}

async fn list(settings: &Settings, output: Output) -> anyhow::Result<()> {
    let store = open::store(settings).await?;
    let now = Clock::System.now();
    let sessions = output::whole(async |part| store.inventory().sessions(part, now).await).await?;
    output.print(&sessions, |sessions| table(sessions, store.zone()))
}

fn table(sessions: &[SessionItem], zone: &Zone) -> Table {
    Table::of(["LOGIN NAME", "GROUP", "OPENED", "EXPIRES", "SOURCE"], sessions, |session| {
        [
            session.account.clone(),
            cell(session.group_id.as_ref()),
            time(zone, Some(session.opened_timestamp)),
            time(zone, Some(session.expires_timestamp)),
            session.source.clone(),
        ]
    })
}

async fn end(settings: &Settings, account: String) -> anyhow::Result<()> {
    let name = LoginName::parse(account.clone()).context("the login name")?;
    let store = open::store(settings).await?;
    match store.sessions().end(name, acting::by("session end")).await? {
        EndedSession::Ended(session) => {
            let opened = time(store.zone(), Some(session.opened.timestamp));
            let source = session.opened.source;
            print_line!("ended the session of {account}, opened at {opened} from {source}")?;
            print_line!("the account may log in again; `enabled = false` in a fleet disables it")?;
        }
        EndedSession::NoSession => print_line!("{account} has no session; nothing changed")?,
        EndedSession::UnknownAccount => {
            bail!("no account {account} is known; `kiosque account list` prints all")
        }
    }
    Ok(())
}
