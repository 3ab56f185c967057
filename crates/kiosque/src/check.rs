//! `kiosque check`

mod exchanges;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use kiosque_clock::Clock;
use kiosque_conformance::{
    Checked, Checker, Credentials, Effect, Ended, Mark, Outcome, Rule, Scope, all, json, junit,
    list, text,
};
use kiosque_https_client::{BaseUrl, HttpsClient, read_text_file, trust};
use kiosque_remote::one_line;

use crate::output::eprint_line;
use crate::{CommandOutcome, confirmation, output};

/// The outcome of a check that could not run, or not to its end.
const CANNOT_RUN: CommandOutcome = CommandOutcome::Failed(2);

/// The arguments of `kiosque check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Base URL of the server, such as https://kiosque.example.com/v8
    #[arg(required_unless_present = "list")]
    url: Option<BaseUrl>,
    /// Login name of the account to check with.
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "list",
        value_parser = NonEmptyStringValueParser::new()
    )]
    username: Option<String>,
    /// File with its password, on one line.
    #[arg(long, value_name = "FILE", required_unless_present = "list")]
    password_file: Option<PathBuf>,
    /// Login name of another account, for the rules about two accounts.
    #[arg(
        long,
        value_name = "NAME",
        requires = "second_password_file",
        value_parser = NonEmptyStringValueParser::new()
    )]
    second_account: Option<String>,
    /// File with the password of that account, on one line.
    #[arg(long, value_name = "FILE", requires = "second_account")]
    second_password_file: Option<PathBuf>,
    /// Certificates to trust, PEM [default: the system's].
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Print the rules without checking any.
    #[arg(long)]
    list: bool,
    /// Check these rules, by number, by id or by the part before its point, as in
    /// ORD-16,orders.detail,sessions [default: all].
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    rules: Vec<String>,
    /// Also check the rules of Kiosque that other servers need not follow.
    #[arg(long)]
    extension: bool,
    /// Only check rules that do not affect the session of the account, after one login.
    #[arg(long)]
    read_only: bool,
    /// Write a report to a file; may be repeated.
    #[arg(long = "report", value_name = "junit=FILE|json=FILE")]
    reports: Vec<Report>,
    /// Write each request and its answer to a file in this new directory, without passwords and
    /// tokens.
    #[arg(long, value_name = "DIR")]
    exchanges: Option<PathBuf>,
    /// Do not ask before the sessions of the accounts are ended.
    #[arg(long)]
    yes: bool,
}

/// A file to write the outcomes to.
#[derive(Clone, Debug)]
struct Report {
    /// Returns the outcomes in the format of the file.
    format: fn(&[Checked]) -> String,
    file: PathBuf,
}

impl FromStr for Report {
    type Err = String;

    fn from_str(text: &str) -> Result<Report, String> {
        let expected = || format!("{text:?} is not junit=FILE or json=FILE");
        let named = text.split_once('=').filter(|(_, file)| !file.is_empty());
        let (format, file) = named.ok_or_else(expected)?;
        let format = match format {
            "junit" => junit,
            "json" => json,
            _ => return Err(expected()),
        };
        Ok(Report { format, file: file.into() })
    }
}

impl Report {
    /// Opens the file, and creates it if there is none. Its content is kept until the report is
    /// written.
    fn open(&self) -> anyhow::Result<File> {
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(&self.file);
        opened.with_context(|| self.shown())
    }

    /// Writes the outcomes to the file that [`Report::open`] has opened.
    fn write(&self, mut opened: File, checked: &[Checked]) -> anyhow::Result<()> {
        replace(&mut opened, &(self.format)(checked)).with_context(|| self.shown())
    }

    fn shown(&self) -> String {
        format!("--report {}", self.file.display())
    }
}

fn replace(opened: &mut File, content: &str) -> io::Result<()> {
    // A pipe has no content to remove.
    if opened.metadata()?.is_file() {
        opened.set_len(0)?;
    }
    opened.write_all(content.as_bytes())
}

/// Checks a server, prints the outcomes and writes the reports.
pub(crate) async fn run(args: CheckArgs) -> anyhow::Result<CommandOutcome> {
    match checked(args).await {
        Ok(outcome) => Ok(outcome),
        Err(error) => {
            eprint_line!("kiosque: the check could not run: {}", crate::describe(&error));
            Ok(CANNOT_RUN)
        }
    }
}

async fn checked(args: CheckArgs) -> anyhow::Result<CommandOutcome> {
    let rules = selected(&args.rules)?;
    if args.list {
        output::print(&list(rules.into_iter()))?;
        return Ok(CommandOutcome::Complete);
    }
    let (Some(url), Some(username), Some(password_file)) =
        (args.url, args.username, args.password_file)
    else {
        bail!("a URL, --username and --password-file are needed");
    };
    let account = credentials(username, "--password-file", &password_file)?;
    let second = match args.second_account.zip(args.second_password_file) {
        Some((name, file)) => Some(credentials(name, "--second-password-file", &file)?),
        None => None,
    };
    if second.as_ref().is_some_and(|second| second.username == account.username) {
        bail!(
            "--second-account {}: it is the account of --username; specify another",
            account.username
        );
    }
    let client = HttpsClient::new(url, trust(args.ca_file.as_deref()).context("--ca-file")?)?;
    // Before sessions end, to detect a file that cannot be written.
    let opened = args.reports.iter().map(Report::open).collect::<anyhow::Result<Vec<_>>>()?;
    let record = args.exchanges.map(exchanges::recorder).transpose()?;
    if !args.yes && !is_confirmed(&account, second.as_ref())? {
        bail!("nothing was checked");
    }
    let scope = Scope {
        sessions: if args.read_only { Effect::Reads } else { Effect::ChangesSession },
        marks: if args.extension { Mark::Kiosque } else { Mark::Contract },
    };
    let mut checker = Checker::new(client, &account, Clock::System.now());
    if let Some(second) = &second {
        checker = checker.with_second(second);
    }
    if let Some(record) = record {
        checker = checker.recorded_by(record);
    }
    let (checked, cause) = match checker.run(rules.into_iter(), scope).await {
        Ok(checked) => (checked, None),
        Err(Ended { checked, cause }) => (checked, Some(cause)),
    };
    let is_skipped = |it: &Checked| matches!(it.outcome, Outcome::Skipped(_));
    let has_begun = !checked.iter().all(is_skipped);
    let printed = match has_begun || cause.is_none() {
        true => output::print(&text(&checked)),
        false => Ok(()),
    };
    let written = args.reports.iter().zip(opened).map(|(it, opened)| it.write(opened, &checked));
    let failures: Vec<anyhow::Error> =
        [printed].into_iter().chain(written).filter_map(Result::err).collect();
    for failure in &failures {
        eprint_line!("kiosque: the outcomes cannot be shown: {}", crate::describe(failure));
    }
    let is_broken = |it: &Checked| matches!(it.outcome, Outcome::Broken(_));
    match cause {
        Some(cause) if has_begun => {
            eprint_line!("kiosque: the check ended early: {cause}");
            Ok(CANNOT_RUN)
        }
        Some(cause) => Err(cause.into()),
        None if !failures.is_empty() => Ok(CANNOT_RUN),
        None if checked.iter().any(is_broken) => Ok(CommandOutcome::Partial),
        None => Ok(CommandOutcome::Complete),
    }
}

/// Returns the rules selected by `--rules`; all without it.
fn selected(names: &[String]) -> anyhow::Result<Vec<&'static Rule>> {
    let is_named = |rule: &Rule, name: &String| {
        rule.id == name || rule.chapter() == name || rule.number == name
    };
    if let Some(unknown) = names.iter().find(|name| !all().any(|rule| is_named(rule, name))) {
        bail!("--rules: no check of a rule {unknown:?}; `kiosque check --list` prints all");
    }
    let is_selected = |rule: &&Rule| names.is_empty() || names.iter().any(|it| is_named(rule, it));
    Ok(all().filter(is_selected).collect())
}

/// Returns an account with the password of a file.
fn credentials(username: String, flag: &str, file: &Path) -> anyhow::Result<Credentials> {
    let password = read_text_file(file);
    let password = password.with_context(|| format!("{flag} {}", file.display()))?;
    let password = one_line(&password).ok().with_context(|| {
        format!("{flag} {}: expected a file with one line, the password", file.display())
    })?;
    Ok(Credentials { username, password })
}

/// Asks on the terminal whether to log in.
fn is_confirmed(account: &Credentials, second: Option<&Credentials>) -> anyhow::Result<bool> {
    let names = match second {
        Some(second) => format!("{} and as {}", account.username, second.username),
        None => account.username.clone(),
    };
    let warning = format!("the check logs in as {names}, which ends the account's session");
    confirmation::is_confirmed(&format!("{warning}; "), &format!("{warning}. Continue?"))
}
