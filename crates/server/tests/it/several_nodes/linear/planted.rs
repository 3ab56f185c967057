//! Every known way to break the promise, with caches, replicas and lost writes, is found.

use std::time::{Duration, Instant};

use super::schedule::{USUAL, history};
use super::sessions::Fault;
use super::{Answer, Ask, Call, Op, Violation, check};

/// Finds the fault, and prints how soon.
fn find(fault: Fault, within: u64) -> Violation {
    let mut slowest = Duration::ZERO;
    for seed in 0..within {
        let ops = history(seed, USUAL, Some(fault));
        let begun = Instant::now();
        let checked = check(&ops);
        slowest = slowest.max(begun.elapsed());
        if let Err(violation) = checked {
            println!("{fault:?}: seed {seed}, no check took longer than {slowest:?}\n{violation}");
            return violation;
        }
    }
    panic!("{within} histories did not show {fault:?}");
}

fn is_accepted_use(op: &Op) -> bool {
    let is_use = matches!(op.call, Call::Session { ask: Ask::Use { .. }, .. });
    is_use && matches!(op.answer(), Answer::Seen { .. })
}

#[test]
fn a_node_that_accepts_by_a_copy_of_the_row_is_found() {
    assert!(is_accepted_use(find(Fault::CopyAccepts, 20).last()));
}

#[test]
fn a_node_that_decides_by_a_copy_of_the_row_is_found() {
    find(Fault::CopyDecides, 20);
}

#[test]
fn a_token_that_is_shown_the_group_of_the_one_before_it_is_found() {
    assert!(is_accepted_use(find(Fault::CopyShowsGroup, 20).last()));
}

#[test]
fn a_switch_that_does_not_compare_when_it_writes_is_found() {
    find(Fault::SwitchComparesEarly, 20);
}

#[test]
fn a_log_out_that_ends_the_session_of_another_token_is_found() {
    find(Fault::LogOutComparesNothing, 20);
}

#[test]
fn a_write_that_is_answered_and_not_kept_is_found() {
    find(Fault::LosesWrites, 20);
}

#[test]
fn a_token_that_is_accepted_after_its_expiry_is_found() {
    find(Fault::ForgetsExpiry, 20);
}

/// A reported history is minimal: without its last answer there is an order.
#[test]
fn a_violation_without_its_last_answer_is_explained() {
    let mut shown = 0;
    for seed in 0..100 {
        let Err(violation) = check(&history(seed, USUAL, Some(Fault::CopyDecides))) else {
            continue;
        };
        let mut ops: Vec<Op> = violation.ops().copied().collect();
        let last = *violation.last();
        let until = last.reply.unwrap().at_ns;
        for op in &mut ops {
            op.reply = op.reply.filter(|reply| reply.at_ns <= until);
        }
        assert!(check(&ops).is_err(), "seed {seed}: {violation}");
        ops.iter_mut().filter(|op| **op == last).for_each(|op| op.reply = None);
        assert!(check(&ops).is_ok(), "seed {seed}: {violation}");
        shown += 1;
    }
    assert!(shown > 50, "{shown} of 100");
}
