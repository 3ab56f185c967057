//! The search against the simplest one: every order of a few calls, tried one by one.

use kiosque_testkit::Rng;

use super::search::{START, State};
use super::{Answer, Ask, Call, Op, Reply, Session, beginning, check};

const HISTORIES: u64 = 20_000;
const CALLS: usize = 7;
const INSTANTS: usize = 40;

fn some_order_explains(left: &[Op], state: State) -> bool {
    let Some(first_ns) = left.iter().filter_map(Op::answered_ns).min() else { return true };
    (0..left.len()).filter(|next| left[*next].asked_ns <= first_ns).any(|next| {
        let mut others = left.to_vec();
        let op = others.remove(next);
        state.after(&op).is_some_and(|after| some_order_explains(&others, after))
    })
}

/// Returns random calls and answers, right ones and wrong ones.
fn any_history(rng: &mut Rng) -> Vec<Op> {
    let calls = 2 + rng.below(CALLS - 1);
    let mut instants: Vec<u64> =
        (0..calls).map(|_| u64::try_from(rng.below(INSTANTS)).unwrap()).collect();
    instants.sort_unstable();
    let mut tokens = vec![1];
    (0..).zip(instants).map(|(client, at)| any_op(rng, client, at, &mut tokens)).collect()
}

fn any_op(rng: &mut Rng, client: usize, asked_ns: u64, tokens: &mut Vec<u64>) -> Op {
    let (token, group) = (rng.choose(tokens), rng.below(2));
    let opened = Session {
        token: tokens[tokens.len() - 1] + 1,
        group: if rng.one_in(20) { 1 } else { group },
        expires_at_ms: rng.choose(&[10, 20, 20]),
    };
    let (ask, answer) = match rng.below(12) {
        0..=2 => (Ask::LogIn { default_group: group }, Answer::OpenedSession(opened)),
        3..=4 => (Ask::Switch { token, group }, Answer::OpenedSession(opened)),
        5 => (Ask::LogOut { token }, Answer::Ended),
        6 => (rng.choose(&[Ask::LogOut { token }, Ask::Switch { token, group }]), Answer::Refused),
        7..=8 => (Ask::Use { token }, Answer::Refused),
        9 => {
            let call = Call::Advance { now_ms: rng.choose(&[10, 20]) };
            let reply = any_reply(rng, asked_ns, Answer::Advanced);
            return Op { client, call, asked_ns, reply };
        }
        _ => (Ask::Use { token }, Answer::Seen { group }),
    };
    if matches!(answer, Answer::OpenedSession(_)) {
        tokens.push(opened.token);
    }
    let reply = any_reply(rng, asked_ns, answer);
    Op { client, call: Call::Session { node: 0, account: 0, ask }, asked_ns, reply }
}

fn any_reply(rng: &mut Rng, asked_ns: u64, answer: Answer) -> Option<Reply> {
    let at_ns = asked_ns + u64::try_from(rng.below(INSTANTS / 2)).unwrap();
    let answer = if rng.one_in(6) { Answer::Unknown } else { answer };
    (!rng.one_in(20)).then_some(Reply { at_ns, answer })
}

#[test]
fn the_search_agrees_with_trying_every_order() {
    let is_explained = |seed: &u64| {
        let ops = any_history(&mut Rng::seeded(*seed));
        let expected = some_order_explains(&ops, START);
        let checked = check(&ops);
        assert_eq!(checked.is_ok(), expected, "seed {seed}: {ops:#?}");
        // Without its last answer, the beginning that is no session is one.
        if let Err(violation) = checked {
            let mut left = beginning(&violation.ops, violation.end);
            assert!(!some_order_explains(&left, START), "seed {seed}: {violation}");
            left[violation.end.at].reply = None;
            assert!(some_order_explains(&left, START), "seed {seed}: {violation}");
        }
        expected
    };
    let explained = (0..HISTORIES).filter(is_explained).count();
    println!("{explained} of {HISTORIES} histories are explained");
    assert!((2_000..18_000).contains(&explained), "{explained}");
}
