//! `kiosque`: the device and order query service of a vending-kiosk platform.
//!
//! stdout is data, stderr is talk, and the exit status is 0 only when all was done.

/// A request makes and frees some hundred small pieces, on threads that come and go.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod apply;
mod archive;
mod args;
mod backup;
mod demo;
mod import;
mod import_rates;
mod move_data;
mod open;
mod openapi;
mod operator_key;
mod progress;
mod schema;
mod serve;
mod settings;
mod verify;

use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use args::{Cli, Command, ImportWhat};
use settings::Settings;

/// Whether all was done.
enum Done {
    /// All of it.
    All,
    /// Some was refused or found wrong, and has been told.
    InPart,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(Done::All) => ExitCode::SUCCESS,
        Ok(Done::InPart) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("kiosque: {}", told(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error and its causes, on one line; some errors tell their cause already.
fn told(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if told.is_empty() {
            told = cause;
        } else if !told.ends_with(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}

fn run(cli: Cli) -> anyhow::Result<Done> {
    let settings = Settings::new(cli.given(), cli.config.as_deref())?;
    start_log(&settings)?;
    let runtime = tokio::runtime::Runtime::new().context("no threads to work with")?;
    runtime.block_on(dispatch(cli.command, settings))
}

async fn dispatch(command: Command, settings: Settings) -> anyhow::Result<Done> {
    match command {
        Command::Demo { today, .. } => demo::run(settings, today).await,
        Command::Serve { .. } => serve::run(settings).await,
        Command::Apply { fleet } => apply::run(&settings, &fleet).await,
        Command::Import { what: ImportWhat::Orders { file, map } } => {
            import::run(&settings, &file, map.as_deref()).await
        }
        Command::Import { what: ImportWhat::Rates { file } } => {
            import_rates::run(&settings, &file).await
        }
        Command::Archive { before } => archive::run(&settings, &before).await,
        Command::Verify => verify::run(&settings).await,
        Command::Backup { file } => backup::run(&settings, file).await,
        Command::Move => move_data::run(&settings).await,
        Command::Schema(schema) => schema::run(schema),
        Command::OperatorKey { what } => operator_key::run(&settings, what).await,
        Command::Openapi => openapi::run(),
    }
}

fn start_log(settings: &Settings) -> anyhow::Result<()> {
    use std::io::IsTerminal;
    let filter = settings.common.log.as_str();
    let filter: tracing_subscriber::EnvFilter =
        filter.parse().with_context(|| format!("log: {filter:?} is no filter"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
    Ok(())
}
