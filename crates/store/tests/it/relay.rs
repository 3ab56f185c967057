//! A relay between a store and its PostgreSQL, which counts round trips and records notices.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long a client sends nothing before an answer is forwarded: a request that is written in
/// several parts is one round trip, also when the server answers its first part at once.
const SILENCE: Duration = Duration::from_millis(3);

/// The setting of a store's connections that suppresses notices, and one of the same length that
/// does not.
const WARNINGS: &[u8] = b"client_min_messages = 'warning'";
const NOTICES: &[u8] = b"client_min_messages = 'notice' ";

/// Forwards all its connections to one server.
pub(crate) struct Relay {
    url: String,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    turns: AtomicUsize,
    /// The bytes of all answers, if they are recorded.
    answers: Option<Mutex<Vec<u8>>>,
}

impl Relay {
    /// Counts the round trips to the server of an address.
    pub(crate) fn to(url: &str) -> Relay {
        Relay::start(url, Seen::default())
    }

    /// Records the notices of a server as well.
    pub(crate) fn recording(url: &str) -> Relay {
        Relay::start(url, Seen { answers: Some(Mutex::default()), ..Seen::default() })
    }

    fn start(url: &str, seen: Seen) -> Relay {
        let (user, rest) = url.split_once('@').unwrap();
        let (server, database) = rest.split_once('/').unwrap();
        let server: SocketAddr = server.parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{user}@{}/{database}", listener.local_addr().unwrap());
        let seen = Arc::new(seen);
        let seen_by_connections = Arc::clone(&seen);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
                // What is sent in two parts would wait for the acknowledgement of the first.
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                relay(client, server, &seen_by_connections);
            }
        });
        Relay { url, seen }
    }

    /// Returns the address of the server through this relay.
    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// Returns the number of round trips so far.
    pub(crate) fn turns(&self) -> usize {
        self.seen.turns.load(Ordering::SeqCst)
    }

    /// Returns the answers since the last call, as text.
    pub(crate) fn answers(&self) -> String {
        let answers = self.seen.answers.as_ref().expect("a relay that records");
        String::from_utf8_lossy(&std::mem::take(&mut *answers.lock().unwrap())).into_owned()
    }
}

/// Forwards both directions. A round trip begins with the first bytes of a request after an answer.
fn relay(client: TcpStream, server: TcpStream, seen: &Arc<Seen>) {
    let answered = Arc::new(AtomicBool::new(true));
    let parts = Arc::new(AtomicUsize::new(0));
    let (to_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let (has_answer, counted) = (Arc::clone(&answered), Arc::clone(seen));
    let counted_parts = Arc::clone(&parts);
    thread::spawn(move || {
        pass(client, to_server, |bytes| {
            counted_parts.fetch_add(1, Ordering::SeqCst);
            if has_answer.swap(false, Ordering::SeqCst) {
                counted.turns.fetch_add(1, Ordering::SeqCst);
            }
            if counted.answers.is_some() {
                ask_for_notices(bytes);
            }
        });
    });
    let recorded = Arc::clone(seen);
    thread::spawn(move || {
        pass(server, to_client, |bytes| {
            wait_for_silence(&parts);
            answered.store(true, Ordering::SeqCst);
            if let Some(answers) = &recorded.answers {
                answers.lock().unwrap().extend_from_slice(bytes);
            }
        });
    });
}

fn wait_for_silence(parts: &AtomicUsize) {
    let mut before = parts.load(Ordering::SeqCst);
    loop {
        thread::sleep(SILENCE);
        let now = parts.load(Ordering::SeqCst);
        if now == before {
            return;
        }
        before = now;
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut see: impl FnMut(&mut [u8])) {
    let mut chunk = [0; 65_536];
    while let Ok(size @ 1..) = from.read(&mut chunk) {
        see(&mut chunk[..size]);
        if to.write_all(&chunk[..size]).is_err() {
            return;
        }
    }
}

fn ask_for_notices(bytes: &mut [u8]) {
    let setting = bytes.windows(WARNINGS.len()).position(|window| window == WARNINGS);
    if let Some(at) = setting {
        bytes[at..at + NOTICES.len()].copy_from_slice(NOTICES);
    }
}
