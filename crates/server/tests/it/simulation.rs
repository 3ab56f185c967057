//! Several workers share accounts while time passes, the server restarts, and the operator
//! withdraws rights and grants them again. Whatever they do, in whatever order, each answer equals
//! the answer of a small model of the interface: the end of a session (AUTH-6, AUTH-23), a login
//! (AUTH-4, AUTH-5, AUTH-8 to AUTH-11), a switch (AUTH-17 to AUTH-19), a log out (AUTH-21), rights
//! that are withdrawn (AUTH-24), and a selected group that is closed or given back (SCOPE-5).
//!
//! `KIOSQUE_SEED=n` runs the histories of seed n, n + 1, … A history that differs prints its own
//! seed, which repeats it as the first, and its steps.

mod history;
mod model;
mod operation;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use history::Lane;
use kiosque_testkit::{runs, seed};

/// Servers side by side, each for one history at a time.
const LANES: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_of_shared_accounts_agree_with_the_model() {
    let (first_seed, histories) = (seed(), u64::try_from(runs(500, 100_000)).unwrap());
    println!("simulation: {histories} histories from seed {first_seed}");
    let next = Arc::new(AtomicU64::new(0));
    let lanes = [(); LANES].map(|()| {
        let next = Arc::clone(&next);
        tokio::spawn(async move {
            let mut lane = Lane::new().await;
            let number = || next.fetch_add(1, Ordering::Relaxed);
            while let Some(number) = Some(number()).filter(|number| *number < histories) {
                lane.play(first_seed.wrapping_add(number)).await;
            }
        })
    });
    for lane in lanes {
        lane.await.unwrap();
    }
}

/// A token that a switch has replaced is accepted: the model knows better.
#[tokio::test]
#[should_panic(expected = "KIOSQUE_SEED=")]
async fn an_old_token_that_is_accepted_is_detected() {
    let mut lane = Lane::new().await;
    lane.is_stale = true;
    for seed in 1..=50 {
        lane.play(seed).await;
    }
}
