//! Small histories; the name of each test is the property that it shows.

use std::ops::Range;

use super::{Answer, Ask, Call, Op, Reply, Session, check};

const EXPIRES_AT_MS: i64 = 100;

fn op(client: usize, us: Range<u64>, call: Call, answer: Answer) -> Op {
    let reply = Some(Reply { at_ns: us.end * 1_000, answer });
    Op { client, call, asked_ns: us.start * 1_000, reply }
}

fn ask(client: usize, us: Range<u64>, ask: Ask, answer: Answer) -> Op {
    op(client, us, Call::Session { node: client, account: 0, ask }, answer)
}

fn log_in(client: usize, us: Range<u64>, token: u64) -> Op {
    let session = Session { token, group: 0, expires_at_ms: EXPIRES_AT_MS };
    ask(client, us, Ask::LogIn { default_group: 0 }, Answer::OpenedSession(session))
}

/// Returns a switch to group 1.
fn switch(client: usize, us: Range<u64>, token: u64, successor: u64) -> Op {
    let session = Session { token: successor, group: 1, expires_at_ms: EXPIRES_AT_MS };
    ask(client, us, Ask::Switch { token, group: 1 }, Answer::OpenedSession(session))
}

fn log_out(client: usize, us: Range<u64>, token: u64) -> Op {
    ask(client, us, Ask::LogOut { token }, Answer::Ended)
}

fn seen(client: usize, us: Range<u64>, token: u64, group: usize) -> Op {
    ask(client, us, Ask::Use { token }, Answer::Seen { group })
}

fn expire(client: usize, us: Range<u64>) -> Op {
    op(client, us, Call::Advance { now_ms: EXPIRES_AT_MS }, Answer::Advanced)
}

/// Returns the same call with another answer.
fn answered(answer: Answer, op: Op) -> Op {
    Op { reply: op.reply.map(|reply| Reply { answer, ..reply }), ..op }
}

fn refused(op: Op) -> Op {
    answered(Answer::Refused, op)
}

fn unknown(op: Op) -> Op {
    answered(Answer::Unknown, op)
}

/// Returns the same call without an answer.
fn unheard(op: Op) -> Op {
    Op { reply: None, ..op }
}

/// The session was opened before each of these, with token 1.
fn and_then(ops: &[Op]) -> Vec<Op> {
    [&[log_in(0, 0..10, 1)], ops].concat()
}

fn fits(what: &str, ops: &[Op]) {
    assert_eq!(check(&and_then(ops)), Ok(()), "{what}");
}

/// The answer of the last operation fits no order, and without it there is one.
fn breaks(what: &str, ops: &[Op]) {
    fits(what, &ops[..ops.len() - 1]);
    assert!(check(&and_then(ops)).is_err(), "{what}: not found");
}

#[test]
fn a_login_ends_the_token_before_it() {
    let second = log_in(1, 20..40, 2);
    fits("accepted before", &[seen(0, 11..19, 1, 0), second]);
    fits("accepted while it is replaced", &[second, seen(0, 30..60, 1, 0)]);
    fits("refused while it is replaced", &[second, refused(seen(0, 21..22, 1, 0))]);
    fits("asked at the very instant of the answer", &[second, seen(0, 40..50, 1, 0)]);
    fits("refused after", &[second, refused(seen(0, 41..50, 1, 0)), seen(1, 41..50, 2, 0)]);
    breaks("accepted after the answer", &[second, seen(2, 41..50, 1, 0)]);
    breaks(
        "accepted once it was refused",
        &[second, refused(seen(2, 21..25, 1, 0)), seen(0, 26..30, 1, 0)],
    );
}

#[test]
fn a_valid_token_is_not_refused() {
    breaks("a use", &[refused(seen(0, 20..30, 1, 0))]);
    breaks("a switch", &[refused(switch(0, 20..30, 1, 2))]);
    breaks("a log out", &[refused(log_out(0, 20..30, 1))]);
    breaks("the successor", &[switch(0, 20..30, 1, 2), refused(seen(1, 31..40, 2, 1))]);
    breaks(
        "the loser of two logins is accepted, and then the winner refused",
        &[
            log_in(1, 20..40, 2),
            log_in(2, 20..40, 3),
            refused(seen(1, 41..42, 2, 0)),
            refused(seen(2, 41..43, 3, 0)),
        ],
    );
    fits(
        "the loser of two logins",
        &[
            log_in(1, 20..40, 2),
            log_in(2, 20..40, 3),
            refused(seen(1, 41..42, 2, 0)),
            seen(2, 41..43, 3, 0),
        ],
    );
}

#[test]
fn a_token_is_switched_once_and_only_while_it_is_valid() {
    fits("one after the other", &[switch(0, 20..30, 1, 2), switch(0, 31..40, 2, 3)]);
    fits("one wins", &[switch(0, 20..30, 1, 2), refused(switch(1, 20..30, 1, 3))]);
    breaks("both win", &[switch(0, 20..30, 1, 2), switch(1, 21..31, 1, 3)]);
    breaks("after a login", &[log_in(1, 20..30, 2), switch(0, 31..40, 1, 3)]);
    breaks("and is used after", &[switch(0, 20..30, 1, 2), seen(1, 31..40, 1, 0)]);
    fits("concurrent with a log out", &[switch(0, 20..30, 1, 2), refused(log_out(1, 20..30, 1))]);
    breaks(
        "concurrent with a log out that ends it too",
        &[switch(0, 20..30, 1, 2), log_out(1, 20..31, 1)],
    );
}

#[test]
fn a_use_is_shown_the_group_of_its_own_token() {
    let switched = switch(0, 20..30, 1, 2);
    fits("the new one", &[switched, seen(0, 31..40, 2, 1)]);
    breaks("the group before the switch", &[switched, seen(0, 31..40, 2, 0)]);
    breaks("the group after it", &[switched, seen(1, 25..28, 1, 1)]);
    let elsewhere = Session { token: 2, group: 2, expires_at_ms: EXPIRES_AT_MS };
    breaks("a switch to another group", &[answered(Answer::OpenedSession(elsewhere), switched)]);
    let not_default = Answer::OpenedSession(elsewhere);
    breaks("a login to another group", &[answered(not_default, log_in(1, 20..30, 2))]);
    breaks("an answer of another kind", &[answered(Answer::Ended, seen(1, 20..30, 1, 0))]);
}

#[test]
fn a_log_out_ends_the_token() {
    let out = log_out(0, 20..30, 1);
    fits("accepted while it ends", &[out, seen(1, 21..40, 1, 0)]);
    fits("refused after", &[out, refused(seen(1, 31..40, 1, 0)), refused(log_out(0, 31..40, 1))]);
    breaks("accepted after", &[out, seen(1, 31..40, 1, 0)]);
    breaks("ended twice", &[out, log_out(1, 31..40, 1)]);
    breaks("of a replaced token", &[log_in(1, 20..30, 2), log_out(0, 31..40, 1)]);
}

#[test]
fn a_call_whose_answer_is_unknown_happens_late_or_never() {
    for lost in [unknown(log_in(1, 20..30, 2)), unheard(log_in(1, 20..30, 2))] {
        fits("a login that explains a refusal", &[lost, refused(seen(0, 31..40, 1, 0))]);
        fits("a login that took no effect", &[lost, seen(0, 31..40, 1, 0)]);
        let late = [lost, seen(0, 31..40, 1, 0), refused(seen(0, 41..50, 1, 0))];
        fits("a login that took effect late", &late);
        breaks("a login that is undone", &[late[0], late[2], seen(0, 51..60, 1, 0)]);
        let next = [late[2], log_in(0, 51..60, 3), seen(0, 61..70, 3, 0)];
        fits("a login before another", &[&[lost], &next[..]].concat());
        let again = refused(seen(0, 71..80, 3, 0));
        breaks("a login that took effect twice", &[&[lost], &next[..], &[again]].concat());
    }
    let early = refused(seen(0, 11..19, 1, 0));
    fits("a login asked at the instant of the refusal", &[unknown(log_in(1, 19..30, 2)), early]);
    breaks("a login that was asked later", &[unknown(log_in(1, 20..30, 2)), early]);
    let switched = unknown(switch(0, 20..30, 1, 2));
    fits("a switch", &[switched, refused(seen(0, 31..40, 1, 0))]);
    let replaced = [log_in(1, 31..40, 3), switched, refused(seen(1, 41..50, 3, 0))];
    breaks("a switch of a token that is replaced", &replaced);
    fits("a log out", &[unknown(log_out(0, 20..30, 1)), refused(seen(0, 31..40, 1, 0))]);
    fits("a use says nothing", &[unknown(seen(0, 20..30, 9, 0))]);
}

#[test]
fn a_token_is_valid_until_its_expiry() {
    let expired = expire(2, 20..30);
    fits("refused after", &[expired, refused(seen(0, 31..40, 1, 0))]);
    fits("accepted concurrently", &[expired, seen(0, 29..40, 1, 0)]);
    breaks("accepted after", &[expired, seen(0, 31..40, 1, 0)]);
    breaks("switched after", &[expired, switch(0, 31..40, 1, 2)]);
    let earlier = op(2, 20..30, Call::Advance { now_ms: EXPIRES_AT_MS - 1 }, Answer::Advanced);
    fits("a millisecond before", &[earlier, seen(0, 31..40, 1, 0)]);
    breaks("refused a millisecond before", &[earlier, refused(seen(0, 31..40, 1, 0))]);
    let fresh = Session { token: 2, group: 0, expires_at_ms: 2 * EXPIRES_AT_MS };
    let fresh = answered(Answer::OpenedSession(fresh), log_in(0, 31..40, 2));
    fits("a login after", &[expired, fresh, seen(1, 41..50, 2, 0)]);
    // It read the clock before it moved, and wrote after the fresh one.
    let late = log_in(1, 29..60, 3);
    fits(
        "a login that was late replaces the fresh one, and has run out",
        &[
            expired,
            fresh,
            seen(0, 41..50, 2, 0),
            refused(seen(0, 51..55, 2, 0)),
            late,
            refused(seen(1, 61..70, 3, 0)),
        ],
    );
}

#[test]
fn accounts_do_not_touch_each_other() {
    let of_another = |op: Op| match op.call {
        Call::Session { node, ask, .. } => {
            Op { call: Call::Session { node, account: 1, ask }, ..op }
        }
        Call::Advance { .. } => op,
    };
    let second = of_another(log_in(1, 20..30, 2));
    fits("a login", &[second, seen(0, 31..40, 1, 0), of_another(seen(1, 31..40, 2, 0))]);
    breaks("a login", &[second, refused(seen(0, 31..40, 1, 0))]);
    breaks(
        "the clock is everybody's",
        &[second, expire(2, 31..40), of_another(seen(1, 41..50, 2, 0))],
    );
}
