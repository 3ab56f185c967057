//! Isolates requests from each other's panics.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use crate::failure::Failure;

/// Returns the outcome of `work`; a panic in it only fails this request.
///
/// Not an `async fn`, which would hold `work` twice: as its argument, and as the future that it
/// awaits. The future of a request is moved, so its size costs time.
pub(crate) fn catch_panic<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> impl Future<Output = Result<T, Failure>> {
    AssertUnwindSafe(work).catch_unwind().map(|outcome| match outcome {
        Ok(outcome) => outcome,
        Err(panic) => {
            let message = panic.downcast_ref::<&str>().map(|message| (*message).to_owned());
            let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
            let message = message.unwrap_or_default();
            Err(Failure::internal(&format_args!("a panic: {message}")))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Form, render};
    use kiosque_locale::Locale;

    /// ENV-11.
    #[tokio::test]
    async fn a_panic_is_a_system_error_without_its_details() {
        let outcome = catch_panic(async { panic!("secret detail") }).await;
        let response = render(outcome, &Form::Envelope(Locale::En), "abc-1");
        assert_eq!(response.status(), 500);
        let body = response.into_body().whole().expect("a whole body");
        assert_eq!(
            body,
            "{\"code\":500,\"msg\":\"system error\",\"enMsg\":\"system error\",\
             \"data\":\"the request could not be answered (request abc-1)\"}"
        );
    }
}
