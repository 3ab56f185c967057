//! `kiosque`: the device and order query service of a vending-kiosk platform.
//!
//! Data goes to stdout and messages to stderr; the exit status is 0 only if the command completed.

#![warn(clippy::print_stderr, clippy::print_stdout)]
#![allow(rustdoc::bare_urls, reason = "doc comments of arguments are their help texts")]

/// Serving a request makes about a hundred small, short-lived allocations, on several threads.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod acting;
mod apply;
mod archive;
mod args;
mod audit;
mod backup;
mod broker;
mod check;
mod completions;
mod confirmation;
mod console_link;
mod demo;
mod device;
mod dry_run;
mod fault_proxy;
mod fleet;
mod import;
mod import_rates;
mod init;
mod interrupt;
mod lists;
mod log;
mod man;
mod move_data;
mod open;
mod openapi;
mod operator_key;
mod orders;
mod output;
mod progress;
mod rejected_file;
mod remote;
mod restore;
mod serve;
mod service_manager;
mod session;
mod settings;
mod status;
mod table;
mod verify;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use kiosque_server::Audience;

use args::{AccountWhat, Cli, Command, ConfigWhat, GroupWhat, ImportWhat, ProductWhat, RatesWhat};
use log::LogFormat;
use output::eprint_line;
use settings::{Given, Settings};

/// The outcome of a command that did not fail.
enum CommandOutcome {
    /// It did everything.
    Complete,
    /// Some input was rejected, or the data has differences; messages describe them.
    Partial,
    /// It failed, or a signal ended it early, with this exit status; a message says why.
    Failed(u8),
}

fn main() -> ExitCode {
    let (cli, given) = Cli::parse_arguments();
    match run(cli, given) {
        Ok(CommandOutcome::Complete) => ExitCode::SUCCESS,
        Ok(CommandOutcome::Partial) => ExitCode::FAILURE,
        Ok(CommandOutcome::Failed(status)) => ExitCode::from(status),
        Err(error) => {
            eprint_line!("kiosque: {}", describe(&error));
            ExitCode::FAILURE
        }
    }
}

/// Returns an error and its causes on one line, without the system's error numbers. A cause that
/// already ends the text is not repeated.
fn describe(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    without_error_numbers(text)
}

fn without_error_numbers(mut text: String) -> String {
    while let Some((before, rest)) = text.split_once(" (os error ")
        && let Some((_, after)) = rest.split_once(')')
    {
        text = format!("{before}{after}");
    }
    text
}

/// Number of tasks that a thread polls before it looks for new requests. Each task that sends a
/// large answer takes about 0.1 ms, and the requests of other callers wait for all of these.
const POLLS_BETWEEN_EVENTS: u32 = 13;

fn run(cli: Cli, given: Given) -> anyhow::Result<CommandOutcome> {
    let settings = Settings::new(given, cli.config_file());
    let format = settings.as_ref().map_or(LogFormat::Text, |settings| settings.common.log_format);
    if let Ok(settings) = &settings {
        log::start(&settings.common.log, format);
    }
    for name in settings::unknown_variables() {
        match format {
            LogFormat::Text => eprint_line!("warning: {name} is not a setting of kiosque"),
            LogFormat::Json => tracing::warn!("{name} is not a setting of kiosque"),
        }
    }
    let settings = settings?;
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let threads = threads.enable_all().event_interval(POLLS_BETWEEN_EVENTS);
    let runtime = threads.build().context("cannot start threads")?;
    let is_timed = cli.command.is_timed();
    let begun = Instant::now();
    match runtime.block_on(dispatch(cli.command, settings)) {
        // A filter that hides errors does not hide the result of a command.
        Err(error) if format == LogFormat::Json && tracing::enabled!(tracing::Level::ERROR) => {
            tracing::error!("{}", describe(&error));
            Ok(CommandOutcome::Partial)
        }
        Ok(outcome @ (CommandOutcome::Complete | CommandOutcome::Partial)) if is_timed => {
            eprint_line!("took {}", progress::time_taken(begun.elapsed()));
            Ok(outcome)
        }
        outcome => outcome,
    }
}

async fn dispatch(command: Command, settings: Settings) -> anyhow::Result<CommandOutcome> {
    match command {
        Command::Demo(flags) => demo::run(settings, *flags).await?,
        Command::Serve => serve::run(settings).await?,
        Command::Check(args) => return check::run(args).await,
        Command::FaultProxy(args) => fault_proxy::run(&settings, args).await?,
        Command::Init => init::run(&settings).await?,
        Command::Apply { fleet, dry_run } => {
            return apply::run(&settings, &fleet, dry_run.changes()).await;
        }
        Command::Import(ImportWhat::Orders(args)) => {
            return import::run(&settings, args).await;
        }
        Command::Import(ImportWhat::Rates { file, dry_run }) => {
            return import_rates::run(&settings, &file, dry_run.changes()).await;
        }
        Command::Import(ImportWhat::List(output)) => lists::imports(&settings, output).await?,
        Command::Archive(args) => archive::run(&settings, args).await?,
        Command::Status(output) => status::run(&settings, output).await?,
        Command::Group(GroupWhat::List(output)) => lists::groups(&settings, output).await?,
        Command::Account(AccountWhat::List(output)) => lists::accounts(&settings, output).await?,
        Command::Device(what) => device::run(&settings, what).await?,
        Command::Product(ProductWhat::List(output)) => lists::products(&settings, output).await?,
        Command::Session(what) => session::run(&settings, what).await?,
        Command::Rates(RatesWhat::List(output)) => lists::rates(&settings, output).await?,
        Command::Audit(args) => audit::run(&settings, args).await?,
        Command::Fleet(what) => fleet::run(&settings, what).await?,
        Command::Orders(what) => return orders::run(&settings, what).await,
        Command::Verify => return verify::run(&settings).await,
        Command::Backup { file, keep } => backup::run(&settings, file, keep).await?,
        Command::Restore { file, dry_run } => {
            restore::run(&settings, file, dry_run.changes()).await?
        }
        Command::Move(dry_run) => move_data::run(&settings, dry_run.changes()).await?,
        Command::Schema { citus: true } => output::print(&kiosque_store::citus_statements())?,
        Command::Schema { citus: false } => bail!("choose the statements to print: --citus"),
        Command::OperatorKey(what) => operator_key::run(&settings, what).await?,
        Command::ConsoleLink(args) => console_link::run(&settings, args).await?,
        Command::Broker(args) => broker::run(*args).await?,
        Command::Remote(what) => return Ok(remote::run(what).await),
        Command::Config(ConfigWhat::Print) => output::print(&settings::template())?,
        Command::Completions { shell } => completions::run(shell)?,
        Command::Man { directory } => man::run(&directory)?,
        Command::Openapi { operator: true, server } => openapi::run(Audience::Operator, server)?,
        Command::Openapi { operator: false, server } => openapi::run(Audience::Gateway, server)?,
    }
    Ok(CommandOutcome::Complete)
}
