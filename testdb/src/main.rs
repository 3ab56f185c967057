//! `cargo run -p kiosque-testdb`: starts a PostgreSQL server, prints its address, and stops it when
//! stdin ends.

use std::io;

use kiosque_testdb::Schema;

fn main() -> io::Result<()> {
    let schema = Schema::new();
    println!("{}", schema.url());
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
