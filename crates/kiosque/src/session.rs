//! `kiosque session`

use anyhow::{Context, bail};
use kiosque_clock::Clock;
use kiosque_contract::inventory::SessionItem;
use kiosque_model::{LoginName, Zone};
use kiosque_store::{EndedSession, WhenAbsent};

use crate::args::SessionWhat;
use crate::output::{self, Output, print_line, time};
use crate::settings::Settings;
use crate::table::{ABSENT, Table};
use crate::{CommandOutcome, acting, open};

pub(crate) async fn run(settings: &Settings, what: SessionWhat) -> anyhow::Result<CommandOutcome> {
    match what {
        SessionWhat::List { output } => list(settings, output).await?,
        SessionWhat::End { account } => end(settings, account).await?,
    }
    Ok(CommandOutcome::Complete)
}

async fn list(settings: &Settings, output: Output) -> anyhow::Result<()> {
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let now = Clock::System.now();
    let sessions = output::whole(async |part| store.inventory().sessions(part, now).await).await?;
    output.print(&sessions, |sessions| table(sessions, store.zone()))
}

fn table(sessions: &[SessionItem], zone: &Zone) -> Table<5> {
    Table::of(["LOGIN NAME", "GROUP", "OPENED", "EXPIRES", "SOURCE"], sessions, |session| {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| ABSENT.to_owned());
        [
            session.account.clone(),
            text(&session.group_id),
            time(zone, session.opened_timestamp),
            time(zone, Some(session.expires_timestamp)),
            text(&session.source),
        ]
    })
}

async fn end(settings: &Settings, account: String) -> anyhow::Result<()> {
    let name = LoginName::parse(account.clone()).context("the login name")?;
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    match store.sessions().end(name, acting::by("session end")).await? {
        EndedSession::Ended(session) => {
            let opened = time(store.zone(), session.opened.opened_at.map(|at| at.0));
            let source = session.opened.source.map_or_else(String::new, |it| format!(" from {it}"));
            print_line!("ended the session of {account}, opened at {opened}{source}")?;
            print_line!("the account may log in again; `enabled = false` in a fleet disables it")?;
        }
        EndedSession::NoSession => print_line!("{account} has no session; nothing changed")?,
        EndedSession::UnknownAccount => {
            bail!("no account {account} is known; `kiosque account list` prints all")
        }
    }
    Ok(())
}
