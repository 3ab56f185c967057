//! `kiosque`: the device and order query service of a vending-kiosk platform.
//!
//! Data goes to stdout and messages to stderr; the exit status is 0 only if the command completed.

/// Serving a request makes about a hundred small, short-lived allocations, on several threads.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod account;
mod acting;
mod apply;
mod archive;
mod args;
mod audit;
mod backup;
mod completions;
mod config;
mod demo;
mod device;
mod dry_run;
mod fleet;
mod group;
mod import;
mod import_list;
mod import_rates;
mod init;
mod man;
mod move_data;
mod open;
mod openapi;
mod operator_key;
mod orders;
mod output;
mod product;
mod progress;
mod rates;
mod rejected_file;
mod schema;
mod serve;
mod service_manager;
mod session;
mod settings;
mod status;
mod table;
mod verify;

use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use kiosque_ingest::import::Strictness;
use kiosque_server::Audience;
use tracing_subscriber::EnvFilter;

use args::{Cli, Command, ImportWhat};
use settings::Settings;

/// The outcome of a command that did not fail.
enum CommandOutcome {
    /// It did everything.
    Complete,
    /// Some input was rejected, or the data has faults; messages name them.
    Partial,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(CommandOutcome::Complete) => ExitCode::SUCCESS,
        Ok(CommandOutcome::Partial) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("kiosque: {}", describe(&error));
            ExitCode::FAILURE
        }
    }
}

/// Returns an error and its causes on one line. A cause that ends the text already is not repeated.
fn describe(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

fn run(cli: Cli) -> anyhow::Result<CommandOutcome> {
    let settings = Settings::new(cli.given(), cli.config_file())?;
    start_log(&settings)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start threads")?;
    runtime.block_on(dispatch(cli.command, settings))
}

async fn dispatch(command: Command, settings: Settings) -> anyhow::Result<CommandOutcome> {
    match command {
        Command::Demo { today, .. } => demo::run(settings, today).await,
        Command::Serve { .. } => serve::run(settings).await,
        Command::Init => init::run(&settings).await,
        Command::Apply { fleet, dry_run } => apply::run(&settings, &fleet, dry_run.changes()).await,
        Command::Import {
            what: ImportWhat::Orders { file, map, rejected, strict, dry_run, .. },
        } => {
            let strictness = if strict { Strictness::Strict } else { Strictness::Lenient };
            let files = import::Files { input: file, map, rejected };
            import::run(&settings, &files, strictness, dry_run.changes()).await
        }
        Command::Import { what: ImportWhat::Rates { file, dry_run } } => {
            import_rates::run(&settings, &file, dry_run.changes()).await
        }
        Command::Import { what: ImportWhat::List { output } } => {
            import_list::run(&settings, output).await
        }
        Command::Archive(args) => archive::run(&settings, args).await,
        Command::Status { output } => status::run(&settings, output).await,
        Command::Group { what } => group::run(&settings, what).await,
        Command::Account { what } => account::run(&settings, what).await,
        Command::Device { what } => device::run(&settings, what).await,
        Command::Product { what } => product::run(&settings, what).await,
        Command::Session { what } => session::run(&settings, what).await,
        Command::Rates { what } => rates::run(&settings, what).await,
        Command::Audit(args) => audit::run(&settings, args).await,
        Command::Fleet { what } => fleet::run(&settings, what).await,
        Command::Orders { what } => orders::run(&settings, what).await,
        Command::Verify => verify::run(&settings).await,
        Command::Backup { file, keep } => backup::run(&settings, file, keep).await,
        Command::Move { dry_run } => move_data::run(&settings, dry_run.changes()).await,
        Command::Schema(schema) => schema::run(schema),
        Command::OperatorKey { what } => operator_key::run(&settings, what).await,
        Command::Config { what } => config::run(what),
        Command::Completions { shell } => completions::run(shell),
        Command::Man { directory } => man::run(&directory),
        Command::Openapi { operator: true } => openapi::run(Audience::Operator),
        Command::Openapi { operator: false } => openapi::run(Audience::Gateway),
    }
}

fn start_log(settings: &Settings) -> anyhow::Result<()> {
    use std::io::IsTerminal;
    tracing_subscriber::fmt()
        .with_env_filter(log_filter(&settings.common.log)?)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
    Ok(())
}

/// Returns the filter of the log. Clients can make `h2` warn as often as they like, so it logs only
/// if `given` names it.
fn log_filter(given: &str) -> anyhow::Result<EnvFilter> {
    let filter = if given.is_empty() { String::new() } else { format!("h2=off,{given}") };
    filter.parse().with_context(|| format!("log: {given:?} is not a log filter"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("no panic").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn warnings_of_h2_are_logged_only_on_request() {
        for (given, is_logged) in [("info", false), ("debug", false), ("info,h2=warn", true)] {
            let (lines, filter) = (Lines::default(), log_filter(given).expect("a filter"));
            let sink = lines.clone();
            let log = tracing_subscriber::fmt().with_env_filter(filter);
            tracing::subscriber::with_default(
                log.with_writer(move || sink.clone()).finish(),
                || {
                    tracing::warn!(target: "h2::proto::streams", "noise");
                    tracing::warn!("kept");
                },
            );
            let logged = String::from_utf8_lossy(&lines.0.lock().expect("no panic")).into_owned();
            assert_eq!(logged.contains("noise"), is_logged, "{given}: {logged}");
            assert!(logged.contains("kept"), "{given}: {logged}");
        }
    }
}
