//! Stopping while calls are in progress.

use std::sync::Arc;

use kiosque_client::Transport;
use kiosque_testkit::DEVICES_PATH;
use tokio::sync::Semaphore;

use super::broker;
use crate::client::{server, trail};

/// AUTH-21: a broker that stops answers the calls in progress, and then logs the account out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_under_way_are_answered_before_the_log_out() {
    let server = server().await;
    let (arrived, release) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let local = broker(&server, |parts| {
        let (transport, arrived, release) =
            (parts.transport.clone(), Arc::clone(&arrived), Arc::clone(&release));
        parts.transport = Transport::from_fn(move |request, token| {
            let (transport, arrived, release) =
                (transport.clone(), Arc::clone(&arrived), Arc::clone(&release));
            Box::pin(async move {
                if request.path == DEVICES_PATH {
                    arrived.add_permits(1);
                    release.acquire().await.unwrap().forget();
                }
                transport.send(request, token).await
            })
        });
    })
    .await;
    let mut worker = local.worker("west").await;
    let (stop, serving) = (local.stop, local.serving);
    let calling = tokio::spawn(async move { worker.list_devices().await.status });
    arrived.acquire().await.unwrap().forget();
    stop.send(()).unwrap();
    assert_eq!(trail(&server, "logout").await, 0);
    release.add_permits(1);
    assert_eq!(calling.await.unwrap(), 200);
    serving.await.unwrap();
    assert_eq!(trail(&server, "logout").await, 1);
}
