//! The devices that a group owns now, as on a device page.

use std::marker::PhantomData;

use kiosque_model::Claim;

use super::{AnswerContext, DashboardQuery, Report, Request, RowContext, SalesBy};
use crate::db::Step;
use crate::devices::{Device, Owner, bind_listed, bind_owner};
use crate::scoped_query::HintedGroup;
use crate::sql::Row;
use crate::{Error, Refused, Store};

impl Store {
    /// Visits the enabled devices that the group owns now, by code.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_profile<A, V>(
        &self,
        claim: Claim,
        query: DashboardQuery,
        visit: V,
    ) -> Result<A, Refused>
    where
        A: Default + Send + 'static,
        V: Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + Sync + 'static,
    {
        self.report(claim, query, ProfileReport { visit, visited: PhantomData }).await
    }
}

struct ProfileReport<A, V> {
    visit: V,
    visited: PhantomData<fn() -> A>,
}

/// A statement of the profile.
enum ProfileStep {
    Owner,
    Device,
}

impl<A, V> Report for ProfileReport<A, V>
where
    A: Default + Send + 'static,
    V: Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + Sync + 'static,
{
    type Rows = (Option<Owner>, A);
    type Step = ProfileStep;
    type Answer = A;
    const SALES: SalesBy = SalesBy::Nothing;

    fn steps<'a>(&'a self, request: &'a Request, group: HintedGroup) -> Vec<Step<'a, ProfileStep>> {
        vec![
            bind_owner(group, request.now).step(ProfileStep::Owner),
            bind_listed(group, request.now, None).step(ProfileStep::Device),
        ]
    }

    fn on_row(
        &self,
        (owner, visited): &mut Self::Rows,
        step: &ProfileStep,
        row: &Row<'_>,
        context: &RowContext<'_>,
    ) -> Result<(), Error> {
        match (step, owner) {
            (ProfileStep::Owner, owner) => *owner = Some(Owner::read(row)?),
            (ProfileStep::Device, Some(owner)) if context.selects(row.read()?) => {
                (self.visit)(visited, owner.device(row, &context.request.activity)?)?;
            }
            (ProfileStep::Device, _) => {}
        }
        Ok(())
    }

    fn answer(self, (_, visited): Self::Rows, _: &AnswerContext<'_>) -> Result<A, Refused> {
        Ok(visited)
    }
}
