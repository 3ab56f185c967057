//! Parses the text of `--fault` from left to right.

use std::num::NonZeroU64;

use kiosque_clock::millis;
use kiosque_model::setting;

use super::FaultError;
use super::forms::{FORMS, Form, Value};
use crate::calls::Calls;
use crate::fault::{Fault, Kind, Trigger};

pub(super) struct Parser<'t> {
    text: &'t str,
    /// The position of the next character, in bytes.
    at: usize,
}

/// A part of the text, and its position in bytes.
#[derive(Clone, Copy)]
struct Part<'t> {
    at: usize,
    text: &'t str,
}

const TRIGGERS: [&str; 3] = ["every", "nth", "chance"];

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Parser<'t> {
        Parser { text, at: 0 }
    }

    /// Parses the whole text.
    pub(super) fn whole(mut self) -> Result<Fault, FaultError> {
        let name = self.word();
        let (trigger, fault) = if TRIGGERS.contains(&name.text) {
            self.expect('(')?;
            let trigger = self.trigger(name.text)?;
            self.expect(',')?;
            let name = self.word();
            if TRIGGERS.contains(&name.text) {
                return Err(self.error(name, format!("one of {}", names())));
            }
            let fault = self.simple(name)?;
            self.expect(')')?;
            (trigger, fault)
        } else {
            (Trigger::Always, self.simple(name)?)
        };
        self.skip_space();
        let rest = self.rest();
        if !rest.text.is_empty() {
            return Err(self.error(rest, "the end"));
        }
        let (kind, calls) = fault;
        Ok(Fault { kind, calls, trigger, text: self.text.to_owned() })
    }

    /// Parses a name, which may be empty.
    fn word(&mut self) -> Part<'t> {
        self.part(|c| c.is_ascii_alphanumeric() || c == '-')
    }

    /// Parses an argument up to a comma or a parenthesis.
    fn argument(&mut self) -> Part<'t> {
        let part = self.part(|c| !matches!(c, ',' | '(' | ')'));
        Part { at: part.at, text: part.text.trim_end() }
    }

    fn part(&mut self, is_in: impl Fn(char) -> bool) -> Part<'t> {
        self.skip_space();
        let rest = self.rest();
        let length = rest.text.find(|c| !is_in(c)).unwrap_or(rest.text.len());
        let (text, _) = rest.text.split_at(length);
        self.at += length;
        Part { at: rest.at, text }
    }

    fn rest(&self) -> Part<'t> {
        Part { at: self.at, text: self.text.get(self.at..).unwrap_or_default() }
    }

    fn skip_space(&mut self) {
        let rest = self.rest().text;
        self.at += rest.len() - rest.trim_start().len();
    }

    fn expect(&mut self, wanted: char) -> Result<(), FaultError> {
        self.skip_space();
        let rest = self.rest();
        if rest.text.starts_with(wanted) {
            self.at += wanted.len_utf8();
            return Ok(());
        }
        Err(self.error(rest, format!("{wanted:?}")))
    }

    fn error(&self, found: Part<'_>, expected: impl Into<String>) -> FaultError {
        let (before, rest) = self.text.split_at_checked(found.at).unwrap_or((self.text, ""));
        let found = if found.text.is_empty() { rest } else { found.text };
        let (found, expected) = (found.to_owned(), expected.into());
        FaultError { column: before.chars().count() + 1, found, expected }
    }

    fn trigger(&mut self, name: &str) -> Result<Trigger, FaultError> {
        let given = self.argument();
        if name == "chance" {
            let chance = percentage(given.text).map(Trigger::Chance);
            return chance.ok_or_else(|| {
                self.error(given, "a percentage such as 5% or 0.25%, above 0% and up to 100%")
            });
        }
        let number = given.text.parse::<NonZeroU64>();
        let number = number.map_err(|_| self.error(given, "a whole number from 1, such as 7"))?;
        Ok(if name == "every" { Trigger::Every(number) } else { Trigger::Nth(number) })
    }

    /// Parses a fault after its name.
    fn simple(&mut self, name: Part<'t>) -> Result<(Kind, Vec<Calls>), FaultError> {
        let Some(form) = FORMS.iter().find(|form| form.name() == name.text) else {
            return Err(self.error(name, format!("one of {}, {}", names(), TRIGGERS.join(", "))));
        };
        let (mut calls, mut value) = (Vec::new(), None);
        self.skip_space();
        if self.rest().text.starts_with('(') {
            self.at += 1;
            loop {
                let argument = self.argument();
                self.read(form, argument, &mut calls, &mut value)?;
                self.skip_space();
                if self.rest().text.starts_with(',') {
                    self.at += 1;
                    continue;
                }
                self.expect(')')?;
                break;
            }
        }
        let kind = match value {
            Some(kind) => kind,
            None => default(form).ok_or_else(|| {
                self.error(self.rest(), format!("a value, as in {}", form.usage()))
            })?,
        };
        if calls.is_empty() {
            calls.push(form.calls);
        }
        Ok((kind, calls))
    }

    /// Reads one argument: calls, or the value of the fault.
    fn read(
        &self,
        form: &Form,
        argument: Part<'t>,
        calls: &mut Vec<Calls>,
        value: &mut Option<Kind>,
    ) -> Result<(), FaultError> {
        if let Some(named) = Calls::named(argument.text) {
            if let Some(other) = named.each().find(|call| !form.allowed.contains(call)) {
                let part = Part { at: argument.at, text: other.short_name };
                return Err(self.error(part, format!("one of {}", form.allowed.joined())));
            }
            calls.push(named);
            return Ok(());
        }
        if value.is_some() {
            return Err(self.error(argument, "a call, since the value is already given"));
        }
        let given = match (form.value.named(), argument.text.split_once('=')) {
            (Some((key, _)), Some((name, given))) if name.trim() == key => {
                let given = given.trim_start();
                Part { at: argument.at + argument.text.len() - given.len(), text: given }
            }
            (_, Some(_)) => return Err(self.error(argument, expected(form))),
            (_, None) => argument,
        };
        *value = Some(parse(form.value, given.text).ok_or_else(|| {
            let is_value = given.at != argument.at;
            let named = form.value.named().filter(|_| is_value);
            let example = named.map(|(_, example)| example.to_owned());
            self.error(given, example.unwrap_or_else(|| expected(form)))
        })?);
        Ok(())
    }
}

/// Returns the names of all faults.
fn names() -> String {
    FORMS.map(|form| form.name()).join(", ")
}

/// Returns what is allowed as an argument of a fault.
fn expected(form: &Form) -> String {
    let calls = match form.allowed {
        Calls::All => Calls::names(),
        allowed => allowed.joined(),
    };
    let value = match form.value.named() {
        Some((key, example)) => format!("{example}, also as {key}=…, or "),
        None => String::new(),
    };
    format!("{value}a call: {calls}")
}

/// Returns the kind of a fault without a value; `None` if the value is required.
fn default(form: &Form) -> Option<Kind> {
    match form.value {
        Value::None(kind) => Some(kind),
        Value::Duration(_, default, make) => default.map(make),
        Value::OptionalDuration(_, make) => Some(make(None)),
        Value::Rows(_, default, make) => Some(make(default)),
        Value::Offset(..) => None,
    }
}

fn parse(value: Value, text: &str) -> Option<Kind> {
    let duration = || setting::duration(text).ok();
    match value {
        Value::None(_) => None,
        Value::Duration(_, _, make) => duration().map(make),
        Value::OptionalDuration(_, make) => duration().map(|duration| make(Some(duration))),
        Value::Rows(_, _, make) => text.parse().ok().filter(|rows| *rows > 0).map(make),
        Value::Offset(_, make) => offset_ms(text).map(make),
    }
}

/// Parses a duration with a sign.
fn offset_ms(text: &str) -> Option<i64> {
    let (sign, length) = match text.strip_prefix('-') {
        Some(length) => (-1, length),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    setting::duration(length).ok().map(|length| sign * millis(length))
}

/// Parses a percentage with at most two decimals, above 0 and up to 100; returns it in units of
/// 1/10,000.
fn percentage(text: &str) -> Option<u64> {
    let number = text.strip_suffix('%')?;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 2 || !is_number(whole) || !is_number(decimals) {
        return None;
    }
    let hundredths: u64 = format!("{decimals:0<2}").parse().ok()?;
    let of_10_000 = whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(hundredths)?;
    (1..=10_000).contains(&of_10_000).then_some(of_10_000)
}
