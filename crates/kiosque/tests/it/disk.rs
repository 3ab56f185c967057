//! Storage that fails: power that is lost between a write and its sync, a disk with errors, and
//! bytes that change while nothing runs. The real program runs with a library that records its
//! changes of files, or makes its calls fail.

mod bad_disk;
mod crash;
mod damage;
pub(crate) mod known;
pub(crate) mod load;
mod power_loss;
pub(crate) mod preload;

use kiosque_testkit::{FleetToml, Sandbox};

/// The devices that orders are of; all belong to the first group.
const DEVICES: usize = 4;

/// Two groups and two accounts: `walker` logs in and switches all the while, `guest` reads. The
/// name of the first device has the number of the fleet.
fn fleet(number: usize) -> FleetToml {
    let fleet = FleetToml::new()
        .group("north", "North")
        .group("south", "South")
        .cheap_account("walker", &["north", "south"])
        .cheap_account("guest", &["north"])
        .product("cola", "Cola", "EUR")
        .device("D0", &format!("Device {number}"), "north");
    (1..DEVICES).fold(fleet, |fleet, at| fleet.device(&format!("D{at}"), "Device", "north"))
}

/// Applies the first fleet and returns a key of the operator.
fn set_up(sandbox: &Sandbox) -> String {
    sandbox.apply(fleet(0));
    sandbox.create_key(&["tills"])
}
