//! A whole run, from nothing to the table.

use std::path::PathBuf;
use std::thread;

use anyhow::{Context, ensure};
use serde_json::json;

use crate::calls::Sessions;
use crate::client::Call;
use crate::engine::Engine;
use crate::input::Input;
use crate::kiosque::{self, Kiosque};
use crate::limit::Limit;
use crate::load::Workload;
use crate::options::Options;
use crate::report::{Report, Row};
use crate::rounds;
use crate::run::Run;
use crate::subject::Subject;
use crate::{
    changes, console, dashboards, disk, fairness, growth, imports, ingest, logins, slope, start,
};

/// Runs the parts that the options select.
///
/// # Errors
/// Something cannot be run or is answered wrongly; slowness is not an error.
pub(crate) async fn run(options: &Options) -> anyhow::Result<Report> {
    let cores = thread::available_parallelism()?.get();
    let rows = if options.part.limit_only {
        limit_only(options).await?
    } else {
        everything(options, cores).await?
    };
    let mut report = Report { cores, size: options.size(), effort: options.effort.clone(), rows };
    if let Some(earlier) = &options.slope_from {
        slope::add(&mut report, earlier)?;
    }
    Ok(report)
}

/// Returns the directory for generated files: the option, or a directory next to that of this
/// program's profile.
fn directory(options: &Options) -> anyhow::Result<PathBuf> {
    match &options.dir {
        Some(dir) => Ok(dir.clone()),
        None => {
            let program = std::env::current_exe()?;
            let target = program.parent().and_then(|profile| profile.parent());
            Ok(target.context("this program is in no target directory")?.join("bench"))
        }
    }
}

/// The limit server with a page of artificial size.
async fn limit_only(options: &Options) -> anyhow::Result<Vec<Row>> {
    let page = format!("{{\"code\":200,\"data\":\"{}\"}}", "x".repeat(8_476));
    let limit = Limit::start(&directory(options)?, page.as_bytes())?;
    let call = Call::new("any?current=1&size=10", Some("a token"), &json!({}))?;
    let workload = Workload::shared(options.effort.connections, vec![call]);
    let subject = limit.subject();
    let measure = async || rounds::sample(&subject, &workload, options.effort.span()).await;
    let samples = options.effort.each_round("limit", measure).await?;
    Ok(vec![rounds::limit_row(samples.iter())])
}

async fn everything(options: &Options, cores: usize) -> anyhow::Result<Vec<Row>> {
    let run = Run {
        program: kiosque::find(options.kiosque.as_deref())?,
        engine: Engine::start(options.store)?,
        dir: directory(options)?,
        options,
    };
    if options.part.fairness {
        return fairness::run(&run).await;
    }
    if options.part.growth {
        return growth::run(&run).await;
    }
    let input = Input::prepare(&run.dir, &options.size(), options.part.fresh)?;
    if options.part.console {
        return console::run(&run, &input).await;
    }
    if options.part.changes {
        return changes::run(&run, &input).await;
    }
    if options.part.ingest_only {
        return ingest::run(&run, &input).await;
    }
    let kiosque = run.kiosque(input.dir.join("data"));
    let mut slow = imports(&run, &input, &kiosque, cores)?;
    run.engine.settle()?;

    let sessions = open_sessions(&kiosque, options).await?;
    let (mut server, started) = start::run(&kiosque, &sessions.first_call()?).await?;
    let client = server.client()?;
    let pages = sessions.order_pages(false)?;
    let limit = Limit::like(&client, &pages, &input.dir).await?;
    let bytes = limit.bytes;
    eprintln!("an order page of 10 has {bytes} bytes");

    let pid = server.process.process();
    let subject = Subject { client: &client, pid, engine: Some(&run.engine) };
    let (mut rows, memory) = reads(&run, &subject, &limit, &sessions).await?;
    if let Some(row) = rows.first_mut() {
        row.note = format!("{bytes} bytes, the very page that Kiosque answered");
    }
    drop(limit);
    if !options.part.dashboards_only {
        rows.extend(logins::run(&subject, &sessions, options, cores).await?);
    }
    server.process.stop();
    rows.push(disk::row(&kiosque, &input.size)?);
    if !options.part.dashboards_only {
        rows.extend(ingest::run(&run, &input).await?);
    }
    rows.append(&mut slow);
    rows.push(started);
    rows.extend(memory);
    Ok(rows)
}

/// The cost of reads, and the server's memory after the lists and after the dashboards.
async fn reads(
    run: &Run<'_>,
    subject: &Subject<'_>,
    limit: &Limit,
    sessions: &Sessions,
) -> anyhow::Result<(Vec<Row>, Vec<Row>)> {
    let options = run.options;
    let dir = run.dir.join("limit");
    let mut rows = Vec::new();
    let mut memory = Vec::new();
    if !options.part.dashboards_only {
        let lists = rounds::lists(sessions, &options.size, options.store)?;
        rows = rounds::run(subject, limit, &dir, &lists, &options.effort).await?;
        memory.push(start::memory(subject.pid, "pages", 40.0)?);
    }
    let dashboards = dashboards::scenarios(sessions, &options.size)?;
    let mut more = rounds::run(subject, limit, &dir, &dashboards, &options.effort).await?;
    if !rows.is_empty() {
        // The limit already has its row.
        more.remove(0);
    }
    rows.append(&mut more);
    memory.push(start::memory(subject.pid, "dashboards", 80.0)?);
    Ok((rows, memory))
}

/// Fills the data directory, unless the data of the last run should be served again.
fn imports(
    run: &Run<'_>,
    input: &Input,
    kiosque: &Kiosque,
    cores: usize,
) -> anyhow::Result<Vec<Row>> {
    if run.options.part.reuse_data {
        ensure!(run.engine.has_files(), "--reuse-data: a database ends with its run");
        ensure!(kiosque.has_data(), "--reuse-data: there is no data of an earlier run");
        return Ok(Vec::new());
    }
    let mut rows = vec![imports::alone(kiosque, input)?];
    if !run.options.part.one_import {
        let second = run.kiosque(input.dir.join("data-during-logins"));
        rows.extend(imports::during_logins(&second, input, cores)?);
    }
    Ok(rows)
}

/// Logs in every reader, on a server that then ends: sessions outlive it.
async fn open_sessions(kiosque: &Kiosque, options: &Options) -> anyhow::Result<Sessions> {
    let mut server = kiosque.serve_ready()?;
    let client = server.client()?;
    let sessions = Sessions::open(&client, &options.size, options.effort.connections).await?;
    sessions.try_out(&client).await?;
    server.process.stop();
    Ok(sessions)
}
