//! x
mod demo;

fn main() {
    println!("{} devices", demo::fleet::fleet().devices.len());
}
