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
mod stale_token;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use history::{Difference, Lane};
use kiosque_testkit::{runs, seed};
use stale_token::StaleToken;

/// Servers side by side, each for one history at a time.
const LANES: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_of_shared_accounts_agree_with_the_model() {
    let (first_seed, histories) = (seed(), u64::try_from(runs(500, 100_000)).unwrap());
    println!("simulation: {histories} histories from seed {first_seed}");
    let begun = Instant::now();
    let next = Arc::new(AtomicU64::new(0));
    let lanes: Vec<_> = (0..LANES)
        .map(|_| tokio::spawn(play_on(Arc::clone(&next), histories, first_seed)))
        .collect();
    let mut played = BTreeMap::<String, usize>::new();
    for lane in lanes {
        match lane.await.unwrap() {
            Ok(of_lane) => of_lane.into_iter().for_each(|(answer, times)| {
                *played.entry(answer).or_default() += times;
            }),
            Err(difference) => panic!("{difference}"),
        }
    }
    println!("simulation: 0 differences in {:.1?}; answers: {played:#?}", begun.elapsed());
}

async fn play_on(
    next: Arc<AtomicU64>,
    histories: u64,
    first_seed: u64,
) -> Result<BTreeMap<String, usize>, Box<Difference>> {
    let mut lane = Lane::new().await;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= histories {
            return Ok(lane.answers);
        }
        lane.play(first_seed.wrapping_add(number), None).await?;
    }
}

#[tokio::test]
async fn the_simulation_detects_an_old_token_accepted_shortly_after_a_switch() {
    const WITHIN: u64 = 50;
    let mut lane = Lane::new().await;
    for seed in 1..=WITHIN {
        if let Err(difference) = lane.play(seed, Some(StaleToken::default())).await {
            println!("found in history {seed} of {WITHIN}:\n{difference}");
            assert!(difference.is_an_old_token_let_in(), "{difference}");
            return;
        }
    }
    panic!("{WITHIN} histories did not show it");
}
