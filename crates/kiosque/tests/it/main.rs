//! The program from outside: the real binary, its files, its exit status, and its answers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod activity;
mod backup;
mod bad_lines;
mod broker;
mod certificate_end;
mod check;
mod client;
mod closed_output;
mod commands;
mod console;
mod console_link;
mod damaged;
mod data_directory;
mod database;
mod demo;
mod deploy;
mod disk;
mod dry_runs;
mod exports;
mod faults;
mod feed;
mod fleet;
mod help;
mod import_orders;
mod import_rates;
mod integrating;
mod interrupt;
mod kill_9;
mod lists;
mod log;
mod operating;
mod operator_key;
mod overwritten;
mod pages;
mod product_prices;
mod readme;
mod remote;
mod restore;
mod sales_report;
mod sessions;
mod settings;
mod shell;
mod slips;
mod steady;
mod tls;
mod trail;
mod unwritable;

use kiosque_testkit::Program;

/// The program under test.
const KIOSQUE: Program = Program(env!("CARGO_BIN_EXE_kiosque"));
