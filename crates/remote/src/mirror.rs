//! A copy of the orders and devices of all groups of an account in an SQLite file, kept up to date
//! by the feed of changes.

mod file;

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use kiosque_client::{Currency, Error, Money};
use kiosque_contract::endpoint::OrderChanges;
use kiosque_contract::{OrderChangesRequest, OrderTotals, SalesTotals};

use crate::error::CommandError;
use crate::remote::Remote;
use file::MirrorFile;
use kiosque_model::counted;

/// Changes per answer and per transaction.
const CHANGES: u64 = 500;

/// A copy in a file, which no other process writes at the same time.
#[derive(Debug)]
pub struct Mirror(MirrorFile);

/// A group at the end of a complete round: its figures in the file and at the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirroredGroup {
    id: String,
    is_of_account: bool,
    was_read_again: bool,
    copied: OrderTotals,
    /// `None` for a group that the account no longer has, and for a server that sends none.
    served: Option<OrderTotals>,
}

/// Whether the request after the last change asks for the server's totals.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Wanted,
    Omitted,
}

/// The result of reading the changes of a group.
#[derive(Default)]
struct Reading {
    was_read_again: bool,
    served: Option<OrderTotals>,
}

impl Mirror {
    /// Opens the copy of an account, or creates it.
    ///
    /// # Errors
    /// The file is not a copy of this account, or another process writes it.
    pub fn open(remote: &Remote, file: &Path) -> Result<Mirror, CommandError> {
        let profile = remote.profile();
        let opened = MirrorFile::open(file, &profile.url, &profile.username);
        opened.map(Mirror).map_err(|error| match error {
            CommandError::Copy(error) => CommandError::Usage(format!(
                "{}: {error}; specify a new file, or one that an earlier run has created",
                file.display()
            )),
            other => other,
        })
    }

    /// Copies the groups of the account as returned by a login, their devices, and their changes up
    /// to the last one. Returns the figures of each group, including former groups of the account.
    ///
    /// # Errors
    /// A call was refused, there is no session, or the file cannot be written. What was copied
    /// before remains.
    pub async fn complete(&mut self, remote: &Remote) -> Result<Vec<MirroredGroup>, CommandError> {
        let (groups, zone) = remote
            .turn(async |turn| {
                // A stored session has the groups of its login.
                if remote.profile().password.is_some() {
                    turn.account.session().resume(None).await?;
                }
                Ok((turn.account.groups().await?, turn.platform_zone().await?))
            })
            .await?;
        self.0.set_groups(&groups, zone)?;
        let mut read = Vec::new();
        for group in groups {
            let devices =
                remote.turn(async |turn| Ok(turn.group(Some(&group.id))?.devices().await?)).await?;
            self.0.store_devices(&group.id, &devices)?;
            let reading = self.read(remote, &group.id, Comparison::Wanted).await?;
            read.push((group.id, reading));
        }
        let mut copied = self.0.totals()?;
        let mut ends = Vec::new();
        for (id, Reading { was_read_again, served }) in read {
            let copied = copied.remove(&id).unwrap_or_default();
            ends.push(MirroredGroup { id, is_of_account: true, was_read_again, copied, served });
        }
        ends.extend(copied.into_iter().map(|(id, copied)| MirroredGroup {
            id,
            is_of_account: false,
            was_read_again: false,
            copied,
            served: None,
        }));
        Ok(ends)
    }

    /// Copies later changes of the groups of the last complete round.
    ///
    /// # Errors
    /// As [`Mirror::complete`].
    pub async fn follow(&mut self, remote: &Remote) -> Result<(), CommandError> {
        for group in self.0.groups()? {
            self.read(remote, &group, Comparison::Omitted).await?;
        }
        Ok(())
    }

    /// Copies the changes of a group up to the last one.
    async fn read(
        &mut self,
        remote: &Remote,
        group: &str,
        comparison: Comparison,
    ) -> Result<Reading, CommandError> {
        let mut reading = Reading::default();
        let mut is_at_end = false;
        loop {
            let after = self.0.cursor(group)?;
            let request = |size: u64| OrderChangesRequest {
                after: after.clone(),
                size: i64::try_from(size).ok(),
                wait_seconds: None,
                include_totals: is_at_end.then_some(true),
            };
            let page = remote
                .turn(async |turn| {
                    let account = turn.account;
                    let group = turn.group(Some(group))?;
                    loop {
                        let size = account.page_size(CHANGES);
                        match group.call::<OrderChanges>(&request(size)).await {
                            Err(error) if account.is_page_too_large(size, &error) => {}
                            page => return Ok(page?),
                        }
                    }
                })
                .await;
            let page = match page {
                // The data went back to an earlier state (ORD-28).
                Err(CommandError::Refused(Error::Invalid(violations)))
                    if after.is_some() && violations.iter().any(|it| it.starts_with("after ")) =>
                {
                    self.0.begin_again(group)?;
                    (reading.was_read_again, is_at_end) = (true, false);
                    continue;
                }
                page => page?,
            };
            self.0.store(group, &page)?;
            if page.more {
                continue;
            }
            if is_at_end || comparison == Comparison::Omitted {
                return Ok(Reading { served: page.totals, ..reading });
            }
            is_at_end = true;
        }
    }
}

impl MirroredGroup {
    /// Returns whether the file has other orders of the group than the server.
    pub fn differs(&self) -> bool {
        self.served.as_ref().is_some_and(|served| *served != self.copied)
    }
}

/// Formats the certificate of a group, on one line.
impl Display for MirroredGroup {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let MirroredGroup { id, is_of_account, was_read_again, copied, served } = self;
        write!(f, "{id}: {}; ", Figures(copied))?;
        match served {
            Some(served) if served != copied => write!(f, "the server has {}", Figures(served))?,
            Some(_) => f.write_str("as on the server")?,
            None if *is_of_account => f.write_str("not compared: the server sends no totals")?,
            None => f.write_str("kept: the account no longer has this group")?,
        }
        if *was_read_again {
            f.write_str("; read again, because the data of the server went back")?;
        }
        Ok(())
    }
}

/// Formats figures of a group.
struct Figures<'t>(&'t OrderTotals);

impl Display for Figures<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let OrderTotals { change_no, orders, sales } = self.0;
        write!(f, "{} up to change {change_no}", counted(*orders, "order"))?;
        for SalesTotals { currency, orders, pay_amount, refund_amount } in sales {
            let amount = |minor: i64| match Currency::parse(currency) {
                Ok(currency) => Money::new(minor, currency).to_string(),
                Err(_) => format!("{minor} minor units of {currency}"),
            };
            let (paid, refunded) = (amount(*pay_amount), amount(*refund_amount));
            let sales = counted(*orders, "sale");
            write!(f, ", {sales} of {paid} with refunds of {refunded}")?;
        }
        Ok(())
    }
}
