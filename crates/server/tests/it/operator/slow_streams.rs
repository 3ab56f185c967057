//! Streams whose lines arrive slowly, break off, or outlive their key.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kiosque_testkit::{DEVICES_PATH, ORDERS_CALL, TestServer, WAIT_MAX, eventually};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::{ACTIVITY, Stream, fleet, kept, line, lines};
use crate::abuse::http2::{self, DATA, RST_STREAM};
use crate::abuse::wire::{Target, Wire};
use crate::console::revoke;

/// Fewer lines than a chunk may have.
const LINES: usize = 900;
/// The pauses of a caller together: far longer than a line may wait.
const TRICKLE: Duration = Duration::from_secs(20);

/// A caller that sends a line, or a part of one, after each pause.
struct Trickle {
    is_over: Arc<AtomicBool>,
    sending: JoinHandle<Stream>,
}

impl Trickle {
    /// Sends these lines, then spaces, for [`TRICKLE`] at most: so the stream never pauses for
    /// longer than `gap`, and never has as many lines as a chunk.
    fn begin(mut stream: Stream, lines: Vec<String>, gap: Duration) -> Trickle {
        let is_over = Arc::<AtomicBool>::default();
        let over = Arc::clone(&is_over);
        let sending = tokio::spawn(async move {
            let mut lines = lines.into_iter();
            for _ in 0..TRICKLE.as_millis() / gap.as_millis() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                stream.say(lines.next().unwrap_or_else(|| " ".to_owned())).await;
                sleep(gap).await;
            }
            stream
        });
        Trickle { is_over, sending }
    }

    /// Waits for the effect of a line, which comes while the caller still sends.
    async fn until(&self, condition: &str, mut holds: impl AsyncFnMut() -> bool) {
        eventually(condition, async || {
            let is_over = self.sending.is_finished();
            let holds = holds().await;
            assert!(holds || !is_over, "not while the lines arrived: {condition}");
            holds
        })
        .await;
    }

    async fn stop(self) -> Stream {
        self.is_over.store(true, Ordering::SeqCst);
        timeout(WAIT_MAX, self.sending).await.expect("it stops").unwrap()
    }
}

const GAPS: [u64; 6] = [1, 20, 50, 90, 150, 500];

/// A line is stored soon after its arrival, whatever the gaps between lines.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_stored_while_lines_follow_at_any_gap() {
    let server = TestServer::start(fleet()).await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    for gap in GAPS {
        let stream = Stream::open(&server, &key).await;
        let name = format!("gap{gap}-");
        let lines = (0..LINES).map(|at| line(&format!("{name}{at}"), 100)).collect();
        let trickle = Trickle::begin(stream, lines, Duration::from_millis(gap));
        let is_kept = async || kept(&server, &token).await.iter().any(|id| id.starts_with(&name));
        trickle.until("the first line is stored", is_kept).await;
        let reply = trickle.stop().await.end().await;
        assert_eq!(reply.json["rejectedCount"], 0, "{reply:?}");
    }
}

/// The same of heartbeats.
#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_counts_while_lines_follow_at_any_gap() {
    let server = TestServer::start(fleet()).await;
    let (key, token) = (server.create_key("activity").await, server.log_in("ops").await.token);
    for gap in GAPS {
        let stream = Stream::open_to(&server, ACTIVITY, &key).await;
        server.advance(Duration::from_millis(1));
        let now = server.now().0;
        let lines = vec![format!("{{\"deviceCode\":\"D1\",\"timestamp\":{now}}}\n"); LINES];
        let trickle = Trickle::begin(stream, lines, Duration::from_millis(gap));
        let is_online = async || {
            let reply = server.call(DEVICES_PATH, Some(&token), "{}").await;
            reply.data()["records"][0]["lastActiveTimestamp"] == now
        };
        trickle.until("the device is online", is_online).await;
        let reply = trickle.stop().await.end().await;
        assert_eq!(reply.json["rejectedCount"], 0, "{reply:?}");
    }
}

/// How a stream breaks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Break {
    /// Its connection ends without a word.
    Cut,
    /// Its connection is reset.
    Reset,
    /// A chunk of its body has no size.
    BadFraming,
    /// It is reset, and its HTTP/2 connection remains.
    Http2,
}

const BREAKS: [Break; 4] = [Break::Cut, Break::Reset, Break::BadFraming, Break::Http2];

impl Break {
    async fn open(self, server: &TestServer, key: &str) -> Stream {
        if self != Break::Http2 {
            return Stream::open(server, key).await;
        }
        let target = Target { address: server.operator, ..Target::http2(server) };
        let mut wire = target.open().await;
        let key = format!("Bearer {key}");
        wire.say(http2::preface(None)).await;
        wire.say(http2::begun(1, ORDERS_CALL, &[("authorization", &key)])).await;
        Stream(wire)
    }

    async fn say(self, stream: &mut Stream, text: &str) {
        match self {
            Break::Http2 => stream.0.say(http2::frame(DATA, 0, 1, text.as_bytes())).await,
            _ => stream.say(text).await,
        }
    }

    /// Breaks the stream; returns its connection if it remains.
    async fn off(self, mut stream: Stream) -> Option<Wire> {
        match self {
            Break::Cut => {}
            Break::Reset => stream.0.stream.get_ref().0.set_zero_linger().unwrap(),
            Break::BadFraming => stream.0.say("no size\r\n").await,
            Break::Http2 => {
                stream.0.say(http2::frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])).await;
                return Some(stream.0);
            }
        }
        None
    }
}

/// The complete lines of a stream that breaks are stored: lines of a chunk that is being stored,
/// lines of the next chunk, and lines that no other line has followed.
#[tokio::test(flavor = "multi_thread")]
async fn complete_lines_are_stored_when_a_stream_breaks() {
    let server =
        TestServer::start_with(fleet(), |settings| settings.limits.ingest_threads = 4).await;
    let (key, token) = (server.create_key("orders").await, server.log_in("ops").await.token);
    for kind in BREAKS {
        let mut stream = kind.open(&server, &key).await;
        let held = server.data.block_writes().await;
        let mut bytes = 0;
        for part in ["a", "b"] {
            let text = lines(&format!("{kind:?}-{part}"), 3);
            kind.say(&mut stream, &text).await;
            bytes += text.len() - 3;
            eventually("the lines are being stored", async || {
                let load = server.app.load();
                load.storing && load.queue_bytes == bytes
            })
            .await;
        }
        let half = r#"{"orderId":"half"#;
        let last = format!("{}{half}", lines(&format!("{kind:?}-c"), 1));
        kind.say(&mut stream, &last).await;
        let _remains = kind.off(stream).await;
        drop(held);
        eventually("the stream has ended", async || server.app.load().streams == 0).await;
        let kept = kept(&server, &token).await;
        let kept: Vec<&String> =
            kept.iter().filter(|id| id.starts_with(&format!("{kind:?}-"))).collect();
        // A reset may lose what was sent last.
        let sure = if [Break::Cut, Break::BadFraming].contains(&kind) { 7 } else { 6 };
        assert!(kept.len() >= sure, "{kept:?}");
    }
    assert_eq!(server.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}

/// A revoked key ends its open streams while nothing arrives, or no complete line.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_ends_silent_and_dripping_streams() {
    let server = TestServer::start(fleet()).await;
    for (path, right) in [(ORDERS_CALL, "orders"), (ACTIVITY, "activity")] {
        let key = server.create_key(right).await;
        let other = server.create_key_named(&format!("other-{right}"), right).await;
        let mut streams = Vec::new();
        for key in [&key, &key, &other] {
            let mut stream = Stream::open_to(&server, path, key).await;
            stream.say(" ").await;
            streams.push(stream);
        }
        let [mut silent, mut dripping, other] = <[Stream; 3]>::try_from(streams).ok().unwrap();
        // The streams are open: their key was good when they began.
        for stream in [&mut silent, &mut dripping] {
            let early = timeout(Duration::from_millis(200), stream.0.answer()).await;
            assert!(early.is_err(), "{early:?}");
        }
        revoke(&server, right).await;
        server.advance(Duration::from_secs(1));
        let dripped = async {
            loop {
                tokio::select! {
                    reply = dripping.0.answer() => break reply,
                    () = sleep(Duration::from_millis(20)) => {}
                }
                dripping.say(" ").await;
            }
        };
        for reply in [timeout(WAIT_MAX, dripped).await.expect("an end"), silent.0.answer().await] {
            let reply = reply.expect("an answer");
            assert_eq!(reply.status, 401, "{reply:?}");
            let detail = "the key is unknown or revoked; the lines that were stored before remain";
            assert_eq!(reply.json["detail"], detail);
        }
        assert_eq!(other.end().await.status, 200);
    }
}
