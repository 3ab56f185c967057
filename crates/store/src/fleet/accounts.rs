//! Accounts of a fleet. What is taken away ends at once: a changed password, a disabled account or
//! API access off deletes the session row in the same transaction.

use kiosque_model::audit::TakenAway;
use kiosque_model::fleet::AccountEntry;
use kiosque_model::{AccountNo, GroupId, GroupNo};

use super::{Applying, Ended, ReportContext};
use crate::sql::statements;
use crate::{Error, audit, sessions};

statements! {
    ACCOUNT = "select account_no, display_name, password_hash, third_party_api, enabled
        from accounts where login_name = $1";
    NEXT = "select coalesce(max(account_no), 0) + 1 from accounts";
    SET = "insert into accounts
            (account_no, login_name, display_name, password_hash, third_party_api, enabled)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (account_no) do update set display_name = excluded.display_name,
            password_hash = excluded.password_hash,
            third_party_api = excluded.third_party_api, enabled = excluded.enabled";
    GROUPS = "select group_no from account_groups where account_no = $1 order by position";
    DROP_GROUPS = "delete from account_groups where account_no = $1";
    ADD_GROUP = "insert into account_groups (account_no, group_no, position)
        values ($1, $2, $3)";
    END_SESSION = "delete from sessions where account_no = $1";
}

#[derive(Clone, PartialEq)]
struct Kept {
    display_name: String,
    password_hash: String,
    third_party_api: bool,
    enabled: bool,
}

impl Applying<'_> {
    /// Makes or changes an account; also says how many sessions that ended.
    pub(super) async fn account(
        &mut self,
        entry: &AccountEntry,
        new_hash: Option<&str>,
    ) -> Result<ReportContext, Error> {
        let name = entry.login_name.as_str();
        let known = self
            .write
            .one(&ACCOUNT, &[name.into()], |row| {
                let kept = Kept {
                    display_name: row.text(1)?.to_owned(),
                    password_hash: row.text(2)?.to_owned(),
                    third_party_api: row.flag(3)?,
                    enabled: row.flag(4)?,
                };
                Ok((row.int(0)?, kept))
            })
            .await?;
        let was = known.as_ref().map(|(_, kept)| kept.clone());
        let number = match &known {
            Some((number, _)) => *number,
            None => self.next(&NEXT).await?,
        };
        let Some(hash) = new_hash.or(was.as_ref().map(|kept| kept.password_hash.as_str())) else {
            let needed = "password or password_hash: needed for a new account";
            return Ok(self.fault(format!("account {name}: {needed}")));
        };
        let former = was.as_ref();
        let becomes = Kept {
            display_name: entry.display_name.clone().unwrap_or_else(|| {
                former.map_or_else(|| name.to_owned(), |kept| kept.display_name.clone())
            }),
            password_hash: hash.to_owned(),
            third_party_api: entry
                .third_party_api
                .unwrap_or_else(|| former.is_some_and(|kept| kept.third_party_api)),
            enabled: entry.enabled.unwrap_or_else(|| former.is_none_or(|kept| kept.enabled)),
        };
        self.set_account(number, name, &becomes).await?;
        let groups = self.account_groups(number, name, entry.groups.as_deref()).await?;
        self.end_session_if_less((number, name), was.as_ref(), &becomes).await?;
        Ok(match was {
            None => ReportContext::Created,
            Some(was) if was == becomes => groups,
            Some(_) => ReportContext::Changed,
        })
    }

    async fn set_account(&self, number: i64, name: &str, becomes: &Kept) -> Result<(), Error> {
        let params = [
            number.into(),
            name.into(),
            becomes.display_name.as_str().into(),
            becomes.password_hash.as_str().into(),
            becomes.third_party_api.into(),
            becomes.enabled.into(),
        ];
        self.write.execute(&SET, &params).await?;
        Ok(())
    }

    async fn account_groups(
        &mut self,
        number: i64,
        name: &str,
        groups: Option<&[GroupId]>,
    ) -> Result<ReportContext, Error> {
        let Some(groups) = groups else { return Ok(ReportContext::Unchanged) };
        let was = self.write.all(&GROUPS, &[number.into()], |row| Ok(GroupNo(row.int(0)?))).await?;
        let mut becomes = Vec::with_capacity(groups.len());
        for group in groups {
            match self.group_no(group).await? {
                Some(known) => becomes.push(known),
                None => {
                    self.fault(format!("account {name}: groups: no group {group} is known"));
                }
            }
        }
        if was != becomes {
            self.write.execute(&DROP_GROUPS, &[number.into()]).await?;
            for (position, group) in (0_i64..).zip(&becomes) {
                let params = [number.into(), group.0.into(), position.into()];
                self.write.execute(&ADD_GROUP, &params).await?;
            }
        }
        Ok(ReportContext::changed_if_different(&was, &becomes))
    }

    async fn end_session_if_less(
        &mut self,
        (number, name): (i64, &str),
        was: Option<&Kept>,
        becomes: &Kept,
    ) -> Result<(), Error> {
        let Some(why) = was.and_then(|was| taken_away(was, becomes)) else { return Ok(()) };
        sessions::lock(self.write, AccountNo(number)).await?;
        let live = audit::live_session(self.write, AccountNo(number), self.by.at).await?;
        self.ended.extend(live.map(|live| Ended { account: name.to_owned(), why, live }));
        self.write.execute(&END_SESSION, &[number.into()]).await?;
        Ok(())
    }
}

fn taken_away(was: &Kept, becomes: &Kept) -> Option<TakenAway> {
    if was.enabled && !becomes.enabled {
        Some(TakenAway::Account)
    } else if was.third_party_api && !becomes.third_party_api {
        Some(TakenAway::ApiAccess)
    } else if was.password_hash != becomes.password_hash {
        Some(TakenAway::Password)
    } else {
        None
    }
}
