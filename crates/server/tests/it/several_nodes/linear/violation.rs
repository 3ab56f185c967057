//! The report of a history that no order explains.

use std::fmt;

use super::{Answer, Ask, Call, End, Op};

/// The shortest beginning of an account's history, by its answers, that no order explains.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(super) account: usize,
    /// The whole history, sorted by the time at which the calls were sent.
    pub(super) ops: Vec<Op>,
    pub(super) end: End,
}

impl Violation {
    /// The operation whose answer completes it: without this answer there is an order.
    pub(crate) fn last(&self) -> &Op {
        &self.ops[self.end.at]
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = self.account;
        writeln!(f, "account {account}: the answers until the one marked > fit no order of calls")?;
        let head = ["asked us", "answered us", "client", "node", "call", "answer"];
        writeln!(f, "{}", row(" ", head))?;
        let sent = (0..).zip(&self.ops).filter(|(_, op)| op.asked_ns <= self.end.at_ns);
        for (at, op) in sent {
            let (node, call) = match op.call {
                Call::Session { node, ask, .. } => (node.to_string(), ask.to_string()),
                Call::Advance { now_ms } => (String::new(), format!("clock to {now_ms} ms")),
            };
            let (asked, client) = (Micros(op.asked_ns).to_string(), op.client.to_string());
            let (answered, answer) = match op.reply {
                Some(reply) if End { at_ns: reply.at_ns, at } <= self.end => {
                    (Micros(reply.at_ns).to_string(), reply.answer.to_string())
                }
                Some(reply) => (String::new(), format!("later: {}", reply.answer)),
                None => (String::new(), Answer::Unknown.to_string()),
            };
            let mark = if at == self.end.at { ">" } else { " " };
            writeln!(f, "{}", row(mark, [&asked, &answered, &client, &node, &call, &answer]))?;
        }
        Ok(())
    }
}

fn row(mark: &str, [asked, answered, client, node, call, answer]: [&str; 6]) -> String {
    format!("{mark} {asked:>11} {answered:>11} {client:>6} {node:>4}  {call:26} {answer}")
}

/// Nanoseconds, printed as microseconds.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ask::LogIn { default_group } => write!(f, "login, group {default_group}"),
            Ask::Switch { token, group } => write!(f, "switch token {token}, group {group}"),
            Ask::LogOut { token } => write!(f, "log out token {token}"),
            Ask::Use { token } => write!(f, "use token {token}"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::OpenedSession(session) => write!(
                f,
                "token {}, group {}, until {} ms",
                session.token, session.group, session.expires_at_ms
            ),
            Answer::Ended => f.write_str("ended"),
            Answer::Seen { group } => write!(f, "accepted, group {group}"),
            Answer::Refused => f.write_str("-4"),
            Answer::Advanced => f.write_str("moved"),
            Answer::Unknown => f.write_str("unknown"),
        }
    }
}
