//! `kiosque remote`

mod account;
mod changes;
mod chart;
mod mirror;
mod orders;
mod print;
mod queries;

use std::time::Duration;

use kiosque_client::{Error, Exchange, Observer};
use kiosque_remote::lists::{GROUPS, WHO};
use kiosque_remote::{
    CommandError, Given, Places, Profiles, Remote, Resolved, groups, variables, who,
};

use crate::CommandOutcome;
use crate::args::{Access, RemoteWhat};
use crate::output::eprint_line;
use crate::table::printable;
use crate::without_error_numbers;
use queries::{answer, show_report};

/// Runs a command, and prints why it failed.
pub(crate) async fn run(what: RemoteWhat) -> CommandOutcome {
    match done(what).await {
        Ok(()) => CommandOutcome::Complete,
        Err(error) if error.is_closed_output() => CommandOutcome::Complete,
        Err(error) => {
            eprint_line!("kiosque: {}", without_error_numbers(error.to_string()));
            CommandOutcome::Failed(error.exit_status())
        }
    }
}

async fn done(what: RemoteWhat) -> Result<(), CommandError> {
    match what {
        RemoteWhat::Login(args) => account::log_in(args).await,
        RemoteWhat::Logout(access) => account::log_out(&access).await,
        RemoteWhat::Whoami(shown) => answer(&shown, &[WHO], async |remote| who(remote).await).await,
        RemoteWhat::Profiles(shown) => queries::profiles(&shown).await,
        RemoteWhat::Groups(shown) => {
            answer(&shown, &[GROUPS], async |remote| groups(remote).await).await
        }
        RemoteWhat::Devices(args) => queries::list_devices(args).await,
        RemoteWhat::Orders(args) => orders::run(args).await,
        RemoteWhat::Order(args) => queries::show_order(args).await,
        RemoteWhat::Changes(args) => changes::run(args).await,
        RemoteWhat::Mirror(args) => mirror::run(args).await,
        RemoteWhat::Report(what) => {
            let (report, args) = what.parts();
            show_report(report, args).await
        }
        RemoteWhat::Call(args) => queries::make_call(args).await,
    }
}

/// Opens the account of a command, and prints which one it is unless it is the default.
fn open(access: &Access) -> Result<Remote, CommandError> {
    open_resolved(profile(access.profile.clone())?, access)
}

/// Returns a profile by name, and prints which one it is unless it is the default.
pub(crate) fn profile(name: Option<String>) -> Result<Resolved, CommandError> {
    let flags = Given { profile: name, ..Given::default() };
    let profile = Resolved::of(flags, variables(variable)?, &Profiles::read(&places()?)?)?;
    print_origin(&profile);
    Ok(profile)
}

fn print_origin(profile: &Resolved) {
    if let Some(origin) = &profile.origin {
        eprint_line!("using {origin}");
    }
}

fn open_resolved(profile: Resolved, access: &Access) -> Result<Remote, CommandError> {
    Remote::open(profile, &places()?, access.explain.then(|| Observer::from_fn(explain)))
}

fn places() -> Result<Places, CommandError> {
    Places::of(variable)
}

fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

/// Prints an exchange, with secrets replaced by stars, and without characters that control the
/// terminal.
fn explain(exchange: &Exchange) {
    let token = if exchange.has_token { " (token ***)" } else { "" };
    eprint_line!("> POST {}{token}", printable(&exchange.url));
    eprint_lines('>', &exchange.body);
    match &exchange.result {
        Ok((status, id, body)) => {
            let id = id.as_deref().unwrap_or("none");
            eprint_line!("< HTTP {status}, request {id}, {:?}", exchange.took);
            eprint_lines('<', body);
        }
        Err(cause) => eprint_line!("< no answer: {}", printable(cause)),
    }
}

/// Prints each line of a body after a mark.
fn eprint_lines(mark: char, body: &str) {
    for line in body.split('\n') {
        eprint_line!("{mark} {}", printable(line.trim_end_matches('\r')));
    }
}

/// Runs a round once, or repeatedly at an interval. If no answer arrives, or the server fails, the
/// next round tries again; any other failure ends the rounds, and so does one of the first round
/// that another attempt cannot avoid, such as a certificate that is not trusted. A round that
/// sets the interval to `None` is the last one.
async fn repeat(
    mut interval: Option<Duration>,
    mut round: impl AsyncFnMut(&mut Option<Duration>) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let mut is_first = true;
    loop {
        let done = round(&mut interval).await;
        let Some(interval) = interval else { return done };
        if is_first && done.as_ref().is_err_and(is_final) {
            return done;
        }
        is_first &= done.is_err();
        match done {
            Err(
                error @ (CommandError::Transport(_) | CommandError::Refused(Error::GaveUp { .. })),
            ) => {
                eprint_line!("kiosque: {error}; trying again")
            }
            other => other?,
        }
        tokio::time::sleep(interval).await;
    }
}

/// Returns whether another attempt would fail in the same way.
fn is_final(error: &CommandError) -> bool {
    matches!(error, CommandError::Transport(Error::Transport(last)) if last.is_final)
}
