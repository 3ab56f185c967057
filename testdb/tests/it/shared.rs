//! A server in a static, which is never dropped, still ends with its process.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use kiosque_testdb::SETTING;

use crate::{family, lives};

/// The program that keeps a server until its stdin ends.
struct Keeping {
    program: Child,
    home: PathBuf,
    family: Vec<String>,
}

impl Keeping {
    fn start() -> Keeping {
        let mut program = Command::new(env!("CARGO_BIN_EXE_kiosque-testdb"))
            .env_remove(SETTING)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(program.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        let output = Command::new("psql")
            .args(["-XAt", url.trim(), "-c", "show data_directory"])
            .output()
            .unwrap();
        let data = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        let home = Path::new(&data).parent().unwrap().to_owned();
        Keeping { program, home, family: family(&data) }
    }

    fn assert_gone(&self) {
        let start = Instant::now();
        while self.home.exists() || self.family.iter().any(|pid| lives(pid)) {
            assert!(start.elapsed() < Duration::from_secs(300), "{:?}", self.home);
            sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_shared_server_ends_with_its_process() {
    let mut keeping = Keeping::start();
    drop(keeping.program.stdin.take());
    assert!(keeping.program.wait().unwrap().success());
    keeping.assert_gone();
}

#[test]
fn a_shared_server_ends_with_a_killed_process() {
    let mut keeping = Keeping::start();
    keeping.program.kill().unwrap();
    keeping.program.wait().unwrap();
    keeping.assert_gone();
}

#[test]
fn a_schema_that_cannot_be_created_is_a_failure() {
    let output = Command::new(env!("CARGO_BIN_EXE_kiosque-testdb"))
        .env(SETTING, "postgres://absent@127.0.0.1:1/nothing")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("this test needs PostgreSQL"), "{said}");
    assert!(said.contains("Connection refused"), "{said}");
}
