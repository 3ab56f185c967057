//! The possible forms of every fault.

use std::time::Duration;

use kiosque_contract::Endpoint;
use kiosque_contract::endpoint::{QueryOrderList, SwitchGroup};

use crate::calls::Calls;
use crate::fault::Kind;

/// A possible form of a fault.
pub(super) struct Form {
    pub(super) value: Value,
    /// The calls that it selects if it specifies none.
    pub(super) calls: Calls,
    /// The calls that it may specify.
    pub(super) allowed: Calls,
    pub(super) meaning: &'static str,
}

/// The value that a fault takes, with its key and the kind that it creates.
#[derive(Clone, Copy)]
pub(super) enum Value {
    None(Kind),
    /// For faults with `None` the duration is required.
    Duration(&'static str, Option<Duration>, fn(Duration) -> Kind),
    OptionalDuration(&'static str, fn(Option<Duration>) -> Kind),
    Rows(&'static str, usize, fn(usize) -> Kind),
    Offset(&'static str, fn(i64) -> Kind),
}

impl Value {
    /// Returns the key of the value, and an example of it.
    pub(super) fn named(self) -> Option<(&'static str, &'static str)> {
        match self {
            Value::None(_) => None,
            Value::Duration(key, ..) => Some((key, "a duration such as 800ms")),
            Value::OptionalDuration(key, _) => Some((key, "a duration such as 5m")),
            Value::Rows(key, ..) => Some((key, "a number of rows such as 1")),
            Value::Offset(key, _) => Some((key, "an offset such as +2h or -90s")),
        }
    }
}

impl Form {
    /// Returns the form of a fault that selects every call, and may specify any.
    const fn of_all(value: Value, meaning: &'static str) -> Form {
        Form { value, calls: Calls::All, allowed: Calls::All, meaning }
    }

    /// Returns the name of the fault, which is the same with any value.
    pub(super) fn name(&self) -> &'static str {
        let kind = match self.value {
            Value::None(kind) => kind,
            Value::Duration(_, _, make) => make(Duration::ZERO),
            Value::OptionalDuration(_, make) => make(None),
            Value::Rows(_, default, make) => make(default),
            Value::Offset(_, make) => make(0),
        };
        kind.name()
    }

    /// Returns the description of the calls that it selects if it specifies none.
    pub(super) fn by_itself(&self) -> String {
        match self.calls {
            Calls::All => "all".to_owned(),
            Calls::WithToken => "all with a token".to_owned(),
            calls => calls.joined(),
        }
    }

    /// Returns the syntax of the fault with its value.
    pub(super) fn usage(&self) -> String {
        let name = self.name();
        match self.value {
            Value::None(_) => name.to_owned(),
            Value::Duration(key, None, _) => format!("{name}({key}=DURATION)"),
            Value::Offset(key, _) => format!("{name}({key}=+DURATION)"),
            Value::Rows(key, default, _) => format!("{name}[({key}={default})]"),
            Value::Duration(key, Some(default), _) => {
                format!("{name}[({key}={}s)]", default.as_secs())
            }
            Value::OptionalDuration(key, _) => format!("{name}[({key}=DURATION)]"),
        }
    }
}

const SECOND: Option<Duration> = Some(Duration::from_secs(1));
const ORDERS: Calls = Calls::Only(QueryOrderList::PATH);

pub(super) const FORMS: [Form; 14] = [
    Form::of_all(Value::Duration("delay", None, Kind::Slow), "the answer is delayed by this time"),
    Form::of_all(
        Value::Duration("retry-after", SECOND, Kind::Code500),
        "HTTP 500, code 500 and Retry-After",
    ),
    Form::of_all(
        Value::Duration("retry-after", SECOND, Kind::Http503),
        "HTTP 503, HTML and Retry-After",
    ),
    Form::of_all(Value::None(Kind::Html404), "HTTP 404 and HTML"),
    Form::of_all(Value::None(Kind::Reset), "the connection closes, and the server sees no call"),
    Form::of_all(Value::None(Kind::CutBody), "the connection closes in the middle of the answer"),
    Form {
        value: Value::None(Kind::LoseAnswer),
        calls: Calls::Only(SwitchGroup::PATH),
        allowed: Calls::All,
        meaning: "the server acts, and the connection closes",
    },
    Form {
        value: Value::Rows("rows", 1, Kind::ShiftPage),
        calls: ORDERS,
        allowed: Calls::Pages,
        meaning: "rows arrived after page 1 was read",
    },
    Form {
        value: Value::None(Kind::Resort),
        calls: ORDERS,
        allowed: Calls::Lists,
        meaning: "the rows are in reverse order",
    },
    Form {
        value: Value::None(Kind::DropRow),
        calls: ORDERS,
        allowed: Calls::Lists,
        meaning: "a row is missing, chosen by --seed",
    },
    Form {
        value: Value::Rows("rows", 1, Kind::StaleTotal),
        calls: ORDERS,
        allowed: Calls::Pages,
        meaning: "total is too small by this number",
    },
    Form {
        value: Value::OptionalDuration("after", Kind::Evict),
        calls: Calls::WithToken,
        allowed: Calls::WithToken,
        meaning: "code -4 from then on, as after another login",
    },
    Form {
        value: Value::Duration("after", None, Kind::Expire),
        calls: Calls::Sessions,
        allowed: Calls::Sessions,
        meaning: "code -4 this long after the token was issued, as expiresIn shows",
    },
    Form::of_all(
        Value::Offset("offset", Kind::Clock),
        "expiresIn and the header Date are off by this time",
    ),
];
