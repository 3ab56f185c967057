//! `cargo run -p kiosque-testdb`: a PostgreSQL to try things on. Prints its address and keeps it
//! until stdin ends.

use std::io;

use kiosque_testdb::Place;

fn main() -> io::Result<()> {
    let place = Place::new();
    println!("{}", place.url());
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
