//! Output on a terminal.

use std::process::Command;

use kiosque_testkit::{Ran, Served};

use super::Place;
use crate::shell::take_environment;

/// Returns a command that runs in a terminal of this width.
fn on_terminal(place: &Place, width: u32, args: &[&str]) -> Command {
    let inner = place.command(args);
    let mut command = Command::new("script");
    let line = format!("stty cols {width} rows 24; exec kiosque remote {}", args.join(" "));
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    command.current_dir(place.sandbox.directory.path());
    take_environment(&mut command, &inner);
    let directory = std::path::Path::new(inner.get_program()).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", directory.display())).env("LC_ALL", "C.UTF-8");
    command
}

/// DASH-21: a terminal has a chart in place of the table, and lines are cut to its width.
#[test]
fn a_terminal_has_charts_and_lines_of_its_width() {
    let place = Place::new();
    let order = |id: &str, day: &str, amount: i64| {
        let start = format!("2026-03-{day} 08:00:00");
        let order = kiosque_testkit::OrderLine::new(id, "N-1", &start);
        order.amount("USD", amount).paid(start).to_string()
    };
    place.sandbox.import(order("a", "01", 1_000) + &order("b", "03", 250));
    place.log_in();
    let trend = ["trend", "--since", "2026-03-01", "--until", "2026-03-04"];
    let chart = Ran::of(&mut on_terminal(&place, 43, &trend)).success().stdout;
    assert_eq!(
        chart.replace('\r', ""),
        "2026-03-01  ██████████  10.00 USD   1 order\n\
         2026-03-02               0.00 USD  0 orders\n\
         2026-03-03  ██▌          2.50 USD   1 order\n"
    );
    let devices = Ran::of(&mut on_terminal(&place, 30, &["devices"])).success().stdout;
    let lines: Vec<&str> = devices.lines().map(|line| line.trim_end_matches('\r')).collect();
    assert_eq!(lines.len(), 3, "{devices}");
    let is_cut = |line: &&str| line.chars().count() == 30 && line.ends_with('…');
    assert!(lines.iter().all(is_cut), "{devices}");
    // A pipe has whole lines.
    let table = place.run(&trend).success().stdout;
    assert!(table.starts_with("label          amount  orderCount\n"), "{table}");
}

/// A table that is repeated replaces the one before, below the time.
#[test]
fn a_watched_table_is_drawn_again() {
    let place = Place::logged_in();
    let mut command = on_terminal(&place, 100, &["devices", "--watch", "20ms"]);
    let watching = Served::spawn(&mut command, &place.sandbox.path("none"));
    watching.stdout_until("N-2");
    let said = watching.stdout();
    let (before, round) = said.split_once("\u{1b}[2J\u{1b}[H").unwrap();
    let time = round.lines().next().unwrap().trim_end();
    assert_eq!((before, time.len()), ("", "2026-03-01 08:00:00".len()), "{said}");
}
