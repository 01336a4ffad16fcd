//! Connections: how many are open, and how long each may take to say what it wants. This holds before a request is known, so it holds
//! for those who have no token.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::future::{self, Either};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time;

/// The most connections at a time. Others wait in the queue of the system.
pub(crate) const MAX_CONNECTIONS: usize = 256;
/// The time in which the head of a request has to come, from the begin of the connection or from the end of the request before.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// The most bytes of a connection that are read ahead, which bounds the head of a request.
const MAX_BUFFER_BYTES: usize = 32 * 1024;
/// The pause after a connection could not be accepted. The process may have no more files until another connection ends.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves connections, each while it has one of the places, until `end`. No connection begins then, and those that are open end after
/// the response that they receive.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    places: Arc<Semaphore>,
    end: impl Future<Output = ()>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MAX_BUFFER_BYTES);
    let open = GracefulShutdown::new();
    let mut end = pin!(end);
    loop {
        let next = pin!(accepted(&listener, &places));
        let Either::Left(((socket, place), _)) = future::select(next, end.as_mut()).await else { break };
        let service = TowerToHyperService::new(router.clone());
        let connection = open.watch(http.serve_connection(TokioIo::new(socket), service));
        tokio::spawn(async move {
            // An error is one of the client, or of the way to it.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    open.shutdown().await;
}

/// The next connection, with its place.
async fn accepted(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    let Ok(place) = Arc::clone(places).acquire_owned().await else {
        // Nobody takes all places away.
        return future::pending().await;
    };
    loop {
        match listener.accept().await {
            Ok((socket, _)) => return (socket, place),
            Err(_) => time::sleep(PAUSE).await,
        }
    }
}
