//! A whole run, from nothing to the table.

use std::path::PathBuf;
use std::thread;

use anyhow::{Context, ensure};
use tokio::runtime::Runtime;

use crate::calls::{self, Sessions};
use crate::child::Process;
use crate::client::Call;
use crate::engine::Engine;
use crate::input::Input;
use crate::kiosque::{self, Kiosque, Server};
use crate::limit::Limit;
use crate::load::Workload;
use crate::options::Options;
use crate::report::{Report, Row};
use crate::rounds::{self, Sending};
use crate::subject::Subject;
use crate::{
    changes, console, dashboards, disk, fairness, growth, imports, ingest, logins, slope, start,
};

/// Runs the parts that the options select.
///
/// # Errors
/// Something cannot be run or is answered wrongly; slowness is not an error.
pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let runtime = Runtime::new()?;
    let cores = thread::available_parallelism()?.get();
    let rows = if options.part.limit_only {
        limit_only(&runtime, options)?
    } else {
        everything(&runtime, options, cores)?
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
fn limit_only(runtime: &Runtime, options: &Options) -> anyhow::Result<Vec<Row>> {
    let page = format!("{{\"code\":200,\"data\":\"{}\"}}", "x".repeat(8_476));
    let limit = Limit::start(&directory(options)?, page.as_bytes())?;
    let call = Call::new("any?current=1&size=10", Some("a token"), "{}".to_owned())?;
    let workload = Workload::shared(options.effort.connections, vec![call]);
    let mut samples = Vec::new();
    for round in 1..=options.effort.rounds {
        let subject = limit.subject();
        let sample = rounds::sample(&subject, &workload, options.effort.span());
        let sample = runtime.block_on(sample)?;
        eprintln!("round {round}: limit {:.1} us", sample.cpu_micros);
        samples.push(sample);
    }
    limit.process.stop()?;
    Ok(vec![rounds::limit_row(samples.iter())])
}

fn everything(runtime: &Runtime, options: &Options, cores: usize) -> anyhow::Result<Vec<Row>> {
    let (size, effort) = (&options.size(), &options.effort);
    let program = kiosque::find(options.kiosque.as_deref())?;
    let engine = Engine::start(options.store)?;
    let sizes = (&options.fairness, effort);
    if options.part.fairness {
        return fairness::run(runtime, (&program, &engine), &directory(options)?, sizes);
    }
    if options.part.growth {
        return growth::run(runtime, (&program, &engine), &directory(options)?, sizes);
    }
    let input = Input::prepare(&directory(options)?, size, options.part.fresh)?;
    if options.part.console {
        return console::run(runtime, (&program, &engine), &input, (size, effort));
    }
    if options.part.changes {
        return changes::run(runtime, (&program, &engine), &input, (size, effort));
    }
    if options.part.ingest_only {
        return ingest::run(runtime, (&program, &engine), &input, (size, effort));
    }
    let kiosque = Kiosque::new(&program, input.dir.join("data"), &engine);
    let mut slow = imports(runtime, options, &kiosque, (&program, &engine), (&input, cores))?;
    engine.settle()?;

    let sessions = runtime.block_on(open_sessions(&kiosque, options))?;
    let (mut server, started) = start::run(runtime, &kiosque, &sessions.first_call()?)?;
    let client = runtime.block_on(server.client())?;
    let pages = sessions.order_pages(false)?;
    let Sending { limit, bytes } = runtime.block_on(Sending::start(&client, &pages, &input.dir))?;
    eprintln!("an order page of 10 has {bytes} bytes");

    let subject = Subject { client: &client, pid: server.process.pid(), engine: Some(&engine) };
    let asked = (&sessions, size, effort);
    let (mut rows, memory) = reads(runtime, &subject, &limit, (&server, &sessions, options))?;
    if let Some(row) = rows.first_mut() {
        row.note = format!("{bytes} bytes, the very page that Kiosque answered");
    }
    stop(limit.process)?;
    if !options.part.dashboards_only {
        rows.extend(logins::run(runtime, &subject, asked, cores)?);
    }
    stop(server.process)?;
    rows.push(disk::row(&kiosque, size)?);
    if !options.part.dashboards_only {
        rows.extend(ingest::run(runtime, (&program, &engine), &input, (size, effort))?);
    }
    rows.append(&mut slow);
    rows.push(started);
    rows.extend(memory);
    Ok(rows)
}

/// The cost of reads, and the server's memory after the lists and after the dashboards.
fn reads(
    runtime: &Runtime,
    subject: &Subject<'_>,
    limit: &Limit,
    (server, sessions, options): (&Server, &Sessions, &Options),
) -> anyhow::Result<(Vec<Row>, Vec<Row>)> {
    let (mut rows, mut memory, dir) = (Vec::new(), Vec::new(), directory(options)?.join("limit"));
    if !options.part.dashboards_only {
        let lists = rounds::lists(sessions, &options.size, options.store)?;
        rows = rounds::run(runtime, subject, (limit, &dir), &lists, &options.effort)?;
        memory.push(start::memory(server, "pages", Some(start::MEMORY_AIM))?);
    }
    let dashboards = dashboards::scenarios(sessions, &options.size)?;
    let mut more = rounds::run(runtime, subject, (limit, &dir), &dashboards, &options.effort)?;
    if !rows.is_empty() {
        // The limit already has its row.
        more.remove(0);
    }
    rows.append(&mut more);
    memory.push(start::memory(server, "dashboards", None)?);
    Ok((rows, memory))
}

/// Fills the data directory, unless the data of the last run should be served again.
fn imports(
    runtime: &Runtime,
    options: &Options,
    kiosque: &Kiosque,
    (program, engine): (&std::path::Path, &Engine),
    (input, cores): (&Input, usize),
) -> anyhow::Result<Vec<Row>> {
    if options.part.reuse_data {
        ensure!(engine.has_files(), "--reuse-data: a database ends with its run");
        ensure!(kiosque.has_data(), "--reuse-data: there is no data of an earlier run");
        return Ok(Vec::new());
    }
    let mut rows = vec![imports::alone(kiosque, input, &options.size)?];
    if !options.part.one_import {
        let second = Kiosque::new(program, input.dir.join("data-during-logins"), engine);
        rows.extend(imports::during_logins(runtime, &second, input, (&options.size, cores))?);
    }
    Ok(rows)
}

/// Logs in every reader, on a server that then ends: sessions outlive it.
async fn open_sessions(kiosque: &Kiosque, options: &Options) -> anyhow::Result<Sessions> {
    let mut server = kiosque.serve()?;
    server.first_answer(&calls::first_login(&options.size)?).await?;
    let client = server.client().await?;
    let sessions = Sessions::open(&client, &options.size, options.effort.connections).await?;
    sessions.try_out(&client).await?;
    stop(server.process)?;
    Ok(sessions)
}

fn stop(process: Process) -> anyhow::Result<()> {
    process.stop().context("a server that was asked to end")
}
