//! x
mod demo;

use kiosque_model::time::{UnixMs, Zone};

fn main() {
    let today = jiff::civil::date(2026, 11, 20);
    let orders = demo::orders::orders(&Zone::utc(), today, UnixMs::MAX);
    let fleet = demo::fleet::fleet();
    println!("{} devices, {} orders", fleet.devices.len(), orders.len());
    for account in &demo::fleet::ACCOUNTS {
        println!("{} {} {}", account.login_name, account.password, account.shows);
    }
}
