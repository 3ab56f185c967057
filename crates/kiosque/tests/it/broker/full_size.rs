//! Many workers, the broker and the server in separate processes. Their full size and their figures
//! belong to `cargo xtask soak`; otherwise they are short.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kiosque_testkit::{Client, DEVICES_PATH, ORDERS_PATH, TOKEN_PATH, is_soak, size};
use tokio::task::JoinSet;

use super::flags::status;
use super::program::Place;
use super::{LOG_IN, Worker};
use crate::client::{GROUPS, fleet, orders};

const WORKERS: usize = 8;

/// A server with three groups of two devices, one of which has orders.
fn place() -> Place {
    let place = Place::with(fleet("secret").cheap_account("other", &GROUPS));
    let lines = GROUPS.map(|group| orders(&format!("{group}-1"), 0..30));
    place.sandbox.import(lines.concat());
    place
}

/// The pages that each worker has read.
async fn pages(
    address: SocketAddr,
    certificate: PathBuf,
    is_over: impl Fn(usize) -> bool + Clone + Send + 'static,
) -> Vec<usize> {
    let mut tasks = JoinSet::new();
    for number in 0..WORKERS {
        let (certificate, is_over) = (certificate.clone(), is_over.clone());
        tasks.spawn(async move {
            let group = GROUPS[number % GROUPS.len()];
            let mut worker = Worker::log_in(address, &certificate, group).await;
            // Another group has no such device, and would refuse the call.
            let body = format!(r#"{{"deviceCode":"{group}-1"}}"#);
            let mut pages = 0;
            while !is_over(pages) {
                let listed = worker.list_devices().await;
                let header = &listed.headers["kiosque-broker"];
                assert!(header.contains(&format!(" group={group} waited=")), "{header}");
                assert_eq!(worker.call(ORDERS_PATH, &body).await.success()["total"], 30);
                pages += 2;
            }
            pages
        });
    }
    tasks.join_all().await
}

/// Returns a condition that holds after a time.
fn after(seconds: usize) -> impl Fn(usize) -> bool + Clone + Send + 'static {
    let end = Instant::now() + Duration::from_secs(u64::try_from(seconds).unwrap());
    move |_| Instant::now() >= end
}

/// AUTH-12: eight workers in three groups read pages without an error, with one login; in a minute,
/// each gets half of the mean at least, and a switch serves a hundred pages at least.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_workers_have_no_error_and_their_shares() {
    let place = place();
    let broker = place.start();
    let seconds = size(1, 60);
    let pages = pages(broker.address(), place.certificate(), after(seconds)).await;
    assert_eq!((place.trail("login"), place.trail("logout")), (1, 0));
    let (sum, switches) = (pages.iter().sum::<usize>(), place.trail("switchGroup"));
    println!("{sum} pages in {seconds} s, {switches} switches; by worker: {pages:?}");
    assert!(pages.iter().all(|pages| *pages > 0), "{pages:?}");
    if is_soak() {
        let mean = sum / WORKERS;
        assert!(pages.iter().all(|pages| pages * 2 >= mean), "{pages:?}");
        assert!(sum >= 100 * switches, "{sum} pages, {switches} switches");
    }
}

/// ENV-11, AUTH-18: when every fifth answer of a switch is lost, no page has rows of another group.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_of_their_group_when_every_fifth_answer_of_a_switch_is_lost() {
    let place = place();
    let fault = "every(5, lose-answer(switch))";
    let turn = if is_soak() { "200ms" } else { "20ms" };
    let [broker, _proxy] = place.start_with_fault(fault, &["--group-turn", turn]);
    let each = size(400, 100_000) / WORKERS;
    let pages = pages(broker.address(), place.certificate(), move |read| read >= each).await;
    let (switches, log_ins) = (place.trail("switchGroup"), place.trail("login"));
    let sum: usize = pages.iter().sum();
    println!("{sum} pages, {switches} switches, {log_ins} logins");
    assert!(switches >= 5 && log_ins > 1, "{switches} switches, {log_ins} logins: none was lost");
    assert!(log_ins <= 1 + switches / 5, "{log_ins} logins after {switches} switches");
}

/// AUTH-11: an outsider that logs in each second causes no error of a worker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outsider_that_logs_in_each_second_causes_no_error() {
    let place = place();
    let broker = place.start();
    let seconds = size(2, 30);
    let mut client = Client::connect(place.server.address(), &place.server_certificate()).await;
    let outsider = async {
        for _ in 0..seconds {
            tokio::time::sleep(Duration::from_secs(1)).await;
            client.call(TOKEN_PATH, None, LOG_IN).await.success();
        }
    };
    let pages = pages(broker.address(), place.certificate(), after(seconds));
    let (pages, ()) = tokio::join!(pages, outsider);
    let log_ins = place.trail("login") - seconds;
    let status = status(&broker);
    let evictions = status.lines().find(|line| line.starts_with("events ")).unwrap();
    println!("{} pages, {log_ins} logins of the broker; {evictions}", pages.iter().sum::<usize>());
    assert!(log_ins > 1 && log_ins <= 1 + seconds, "{log_ins} logins");
}

/// AUTH-8, AUTH-24: when the password of the account is changed at the server, the broker sends one
/// login, whose refusal reaches every worker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_password_is_sent_once() {
    let place = place();
    let broker = place.start();
    let mut worker = Worker::log_in(broker.address(), &place.certificate(), "south").await;
    worker.list_devices().await;
    place.sandbox.apply(fleet("another"));
    let begun = Instant::now();
    let (mut calls, seconds) = (0, u64::try_from(size(1, 60)).unwrap());
    while calls < 20 || begun.elapsed() < Duration::from_secs(seconds) {
        let called = worker.call(DEVICES_PATH, "{}").await;
        assert_eq!((called.status, called.code()), (200, -2), "{called:?}");
        assert!(called.headers["kiosque-broker-note"].contains("code -2"), "{called:?}");
        let logged_in = worker.client.call(TOKEN_PATH, None, LOG_IN).await;
        assert_eq!((logged_in.status, logged_in.code()), (200, -2), "{logged_in:?}");
        calls += 2;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("{calls} calls were refused in {:?}", begun.elapsed());
    let status = status(&broker);
    assert!(status.contains("events       2 logins, "), "{status}");
}

/// Returns the median of the durations of pages, in microseconds.
async fn median_us(worker: &mut Worker, pages: usize) -> u128 {
    let mut durations = Vec::new();
    for _ in 0..pages {
        let begun = Instant::now();
        worker.list_devices().await;
        durations.push(begun.elapsed().as_micros());
    }
    durations.sort_unstable();
    durations[durations.len() / 2]
}

/// DEV-4: a page through the broker is the page of the server; how much longer it takes is printed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_worker_reads_the_same_pages_as_without_a_broker() {
    let place = place();
    let broker = place.start();
    let (server, certificate) = (place.server.address(), place.server_certificate());
    let other = r#"{"username":"other","password":"secret"}"#;
    let mut without = Worker::log_in_with(other, server, &certificate, "south").await;
    let mut with = Worker::log_in(broker.address(), &place.certificate(), "south").await;
    assert_eq!(with.list_devices().await.text, without.list_devices().await.text);
    let pages = size(20, 500);
    for round in 1..=size(1, 10) {
        let (without, with) =
            (median_us(&mut without, pages).await, median_us(&mut with, pages).await);
        println!("round {round}: median of a page {without} us without, {with} us with a broker");
    }
}
