//! Limits the number of open connections, and the time that each may take to send a request. This applies before any request is read, so it
//! also limits clients without a token.

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

/// Maximum number of connections. Further ones wait in the kernel's accept queue.
pub(crate) const MAX_CONNECTIONS: usize = 256;
/// Time limit for the head of a request, from the start of the connection or from the end of the previous request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Maximum size of the read buffer of a connection, which bounds the head of a request, bytes.
const MAX_BUFFER_BYTES: usize = 32 * 1024;
/// Pause after a failed accept. The process may be out of files until another connection ends.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves connections, each while it holds a permit, until `end`. Then no connection is accepted any more, and open ones end after their
/// current response.
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
            // An error is due to the client or to the network.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    open.shutdown().await;
}

/// The next connection, with its permit.
async fn accepted(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    let Ok(place) = Arc::clone(places).acquire_owned().await else {
        // The semaphore is never closed.
        return future::pending().await;
    };
    loop {
        match listener.accept().await {
            Ok((socket, _)) => return (socket, place),
            Err(_) => time::sleep(PAUSE).await,
        }
    }
}
