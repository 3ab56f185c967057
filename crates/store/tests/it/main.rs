//! The store alone, on real files: one module for each kind of data.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod accounts;
mod activity;
mod apply;
mod archive;
mod arrivals;
mod audit;
mod backup;
mod citus;
mod clock;
mod console;
mod creating;
mod dashboard_cache;
mod device_deletion;
mod device_lists;
mod dry_run;
mod engines;
mod fleet_caches;
mod fleet_turns;
mod followers;
mod histories;
mod imports;
mod inconsistent_devices;
mod inventory;
mod keys;
mod known_sources;
mod layout;
mod long_reads;
mod months;
mod order_spans;
mod owners;
mod ownership_histories;
mod rates;
mod receive;
#[cfg(debug_assertions)]
mod receive_faults;
mod refused_requests;
mod relay;
mod replaced_moves;
mod requests;
mod retries;
mod round_trips;
mod scope;
mod searches;
mod session_clock;
mod verify;
