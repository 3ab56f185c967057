//! The periods in which groups own a device. A move takes effect at its `since`, or now, and does
//! not change the group of any stored order.

use kiosque_model::{GroupNo, UnixMs};

use crate::accounts::GroupRow;

/// A period in which a group owns a device. It ends when the next one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) group_no: GroupNo,
    pub(crate) group_id: String,
    pub(crate) since: UnixMs,
}

/// Returns the groups of the period at `now` and of those after it.
pub(super) fn from(periods: &[Period], now: UnixMs) -> impl Iterator<Item = GroupNo> {
    let ended = periods.iter().skip(1).take_while(move |next| next.since <= now).count();
    periods.iter().skip(ended).map(|period| period.group_no)
}

/// The group of an entry, and the time from which it should own the device.
pub(super) struct Move<'a> {
    pub(super) to: &'a GroupRow,
    /// `None`: now.
    pub(super) since: Option<UnixMs>,
}

impl Move<'_> {
    /// Returns when the move should take effect.
    fn at(&self, now: UnixMs) -> UnixMs {
        self.since.unwrap_or(now)
    }

    /// Returns the periods that the move does not replace. It replaces periods that have not begun:
    /// all from its time on, and the last one if it has the same group.
    fn kept<'p>(&self, periods: &'p [Period], now: UnixMs) -> &'p [Period] {
        let at = self.at(now);
        let is_replaced = |one: &&Period| {
            one.since > now && (one.since >= at || one.group_no == self.to.group_no)
        };
        let replaced = periods.iter().rev().take_while(is_replaced);
        periods.get(..periods.len() - replaced.count()).unwrap_or_default()
    }

    /// Returns the owner after whose orders the move may have to take effect: the last one before a
    /// `since` in the past. Orders dated in the future do not delay a move.
    pub(super) fn follows_orders_of<'p>(
        &self,
        periods: &'p [Period],
        now: UnixMs,
    ) -> Option<&'p Period> {
        let is_past = self.since.is_some_and(|since| since <= now);
        self.kept(periods, now).last().filter(|last| is_past && last.group_no != self.to.group_no)
    }

    /// Returns the periods after the move, or the error to report. The first owner owns all earlier
    /// time, so that it cannot be planned.
    pub(super) fn applied_to(
        &self,
        periods: &[Period],
        now: UnixMs,
    ) -> Result<Vec<Period>, String> {
        let mut kept = self.kept(periods, now).to_vec();
        let since = match (kept.last(), self.since) {
            (None, Some(since)) if since > now => {
                return Err("since: the device is new, so that this group would own it at once; \
                            apply it with its present group first, or without since"
                    .to_owned());
            }
            (None, _) => UnixMs(0),
            (Some(last), _) if last.group_no == self.to.group_no => {
                let is_another = |since| last.since.0 != 0 && since != last.since;
                if self.since.is_some_and(is_another) {
                    return Err(format!(
                        "since: the device moved to group {} at {}, which cannot be changed; omit \
                         since",
                        last.group_id,
                        last.since.rfc3339()
                    ));
                }
                return Ok(kept);
            }
            (Some(last), Some(since)) if since <= last.since => {
                return Err(format!(
                    "since: is not after {}, when the device moved to group {}",
                    last.since.rfc3339(),
                    last.group_id
                ));
            }
            (Some(_), Some(since)) => since,
            // The last one may have begun in this millisecond.
            (Some(last), None) => now.max(last.since.plus_ms(1)),
        };
        let GroupRow { group_no, group_id, .. } = self.to.clone();
        kept.push(Period { group_no, group_id, since });
        Ok(kept)
    }
}

/// The periods of a device before and after an apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnersChange {
    pub(crate) old: Vec<Period>,
    pub(crate) new: Vec<Period>,
}

impl OwnersChange {
    /// Returns how many periods remain. The last of them may end at another time.
    fn common(&self) -> usize {
        self.old.iter().zip(&self.new).take_while(|(old, new)| old == new).count()
    }

    /// Returns the last remaining period, and its new end.
    pub(super) fn ended(&self) -> Option<(&Period, UnixMs)> {
        let common = self.common();
        let until = self.new.get(common).map_or(UnixMs(i64::MAX), |next| next.since);
        Some((self.old.get(common.checked_sub(1)?)?, until))
    }

    /// Returns the old periods that are replaced.
    pub(super) fn removed(&self) -> &[Period] {
        self.old.get(self.common()..).unwrap_or_default()
    }

    /// Returns the new periods, each with its end. A move adds at most one.
    pub(super) fn added(&self) -> impl Iterator<Item = (&Period, UnixMs)> {
        let start = self.common();
        let ends = self.new.iter().skip(start + 1).map(|next| next.since);
        self.new.iter().skip(start).zip(ends.chain([UnixMs(i64::MAX)]))
    }

    /// Returns the groups whose periods differ.
    pub(crate) fn groups(&self) -> impl Iterator<Item = GroupNo> {
        let start = self.common().saturating_sub(1);
        let differing = self.old.iter().skip(start).chain(self.new.iter().skip(start));
        differing.map(|period| period.group_no)
    }

    /// Returns the start of the first period of a group, if it has one.
    pub(super) fn first_of(&self, group: GroupNo) -> Option<UnixMs> {
        self.new.iter().find(|period| period.group_no == group).map(|period| period.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 100;

    /// Parses periods from `GROUP@SINCE`, in order.
    fn periods(text: &str) -> Vec<Period> {
        let read = |one: &str| {
            let (id, since) = one.split_once('@').expect("GROUP@SINCE");
            period(id, since.parse().expect("a time"))
        };
        text.split_whitespace().map(read).collect()
    }

    fn period(id: &str, since: i64) -> Period {
        let group_no = GroupNo(i64::from(id.as_bytes()[0]));
        Period { group_no, group_id: id.to_owned(), since: UnixMs(since) }
    }

    fn moved(old: &str, to: &str, since: Option<i64>) -> Result<String, String> {
        let Period { group_no, group_id, .. } = period(to, 0);
        let to = GroupRow { group_no, group_id, group_name: String::new(), active: true };
        let moving = Move { to: &to, since: since.map(UnixMs) };
        let new = moving.applied_to(&periods(old), UnixMs(NOW))?;
        let text = new.iter().map(|one| format!("{}@{}", one.group_id, one.since.0));
        Ok(text.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_move_takes_effect_now_or_at_its_since() {
        for (old, to, since, new) in [
            ("", "a", None, "a@0"),
            ("", "a", Some(7), "a@0"),
            ("a@0", "b", None, "a@0 b@100"),
            ("a@0", "b", Some(7), "a@0 b@7"),
            ("a@0", "b", Some(500), "a@0 b@500"),
            ("a@0", "a", Some(500), "a@0"),
            ("a@0 b@7", "b", None, "a@0 b@7"),
            ("a@0 b@100", "c", None, "a@0 b@100 c@101"),
            ("a@0 b@7", "b", Some(7), "a@0 b@7"),
            ("a@0 b@7", "a", None, "a@0 b@7 a@100"),
        ] {
            assert_eq!(moved(old, to, since), Ok(new.to_owned()), "{old}: {to} {since:?}");
        }
    }

    #[test]
    fn a_period_that_has_not_begun_is_replaced() {
        for (old, to, since, new) in [
            ("a@0 b@900", "b", None, "a@0 b@100"),
            ("a@0 b@900", "b", Some(900), "a@0 b@900"),
            ("a@0 b@900", "b", Some(300), "a@0 b@300"),
            ("a@0 b@900", "a", None, "a@0"),
            ("a@0 b@900", "c", None, "a@0 c@100"),
            ("a@0 b@900", "c", Some(900), "a@0 c@900"),
            ("a@0 b@900", "c", Some(50), "a@0 c@50"),
            ("a@0 b@900", "b", Some(901), "a@0 b@901"),
            ("a@0 b@900", "c", Some(901), "a@0 b@900 c@901"),
            ("a@0 b@900 c@901", "d", Some(300), "a@0 d@300"),
            ("a@0 b@900 c@901", "d", Some(901), "a@0 b@900 d@901"),
        ] {
            assert_eq!(moved(old, to, since), Ok(new.to_owned()), "{old}: {to} {since:?}");
        }
    }

    #[test]
    fn a_period_that_has_begun_stays() {
        let another = "since: the device moved to group b at 1970-01-01T00:00:00.007Z, which \
                       cannot be changed; omit since";
        let not_after = |at| {
            format!(
                "since: is not after 1970-01-01T00:00:00.{at}Z, when the device moved to group b"
            )
        };
        let is_new = "since: the device is new, so that this group would own it at once; apply it \
                      with its present group first, or without since";
        for (old, to, since, error) in [
            ("", "a", Some(500), is_new),
            ("a@0 b@7", "b", Some(8), another),
            ("a@0 b@7", "b", Some(500), another),
            ("a@0 b@7", "c", Some(7), &not_after("007")),
            ("a@0 b@100", "c", Some(100), &not_after("100")),
        ] {
            assert_eq!(moved(old, to, since), Err(error.to_owned()), "{old}: {to} {since:?}");
        }
    }

    #[test]
    fn a_change_has_the_periods_that_differ() {
        let (old, new) = (periods("a@0 b@7 c@900"), periods("a@0 b@7 d@300"));
        let change = OwnersChange { old, new };
        assert_eq!(change.ended(), Some((&period("b", 7), UnixMs(300))));
        assert_eq!(change.removed(), [period("c", 900)]);
        let added: Vec<_> = change.added().collect();
        assert_eq!(added, [(&period("d", 300), UnixMs(i64::MAX))]);
        let groups: Vec<GroupNo> = change.groups().collect();
        assert_eq!(groups, [b'b', b'c', b'b', b'd'].map(|id| GroupNo(id.into())));
        let cancelled = OwnersChange { old: periods("a@0 b@9"), new: periods("a@0") };
        assert_eq!(cancelled.ended(), Some((&period("a", 0), UnixMs(i64::MAX))));
        assert_eq!(cancelled.added().count(), 0);
    }
}
