//! Connections: how they are accepted, how long they may take, and how they end.

use crate::app::App;
use crate::http::{self, observe::Client};
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tower::Service;

/// How often folders are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long the head of a request may take, and how long a connection may be open without one.
const HEAD: Duration = Duration::from_secs(15);
/// The most bytes of a request's head.
const HEAD_BYTES: usize = 32 << 10;
/// The most threads that read and write; what takes long is done elsewhere.
const MOST_THREADS: usize = 4;

/// Serves until a signal comes.
pub(crate) fn run(app: &Arc<App>, listener: std::net::TcpListener) -> io::Result<()> {
    let threads = app.pool.threads().div_ceil(2).min(MOST_THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        // They open models, one after the other.
        .max_blocking_threads(4)
        .thread_name("labelwood-http")
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let (stop, hang_up) = signals()?;
        let reload = again_on(app.clone(), hang_up);
        let serving = serve(app, TcpListener::from_std(listener)?, stop);
        tokio::select! {
            outcome = serving => outcome,
            () = reload => Ok(()),
        }
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
    outcome
}

/// Serves until `stop` is done, then answers what is in flight.
pub(crate) async fn serve(
    app: &Arc<App>,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let routes = http::router(app);
    let open = Arc::new(Semaphore::new(app.options.max_connections));
    let ending = GracefulShutdown::new();
    let looking = tokio::spawn(look(app.clone()));
    let mut stop = std::pin::pin!(stop);
    loop {
        let next = async {
            let place = open.clone().acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((listener.accept().await?, place))
        };
        tokio::select! {
            biased;
            () = &mut stop => break,
            accepted = next => match accepted {
                Ok(((stream, address), place)) => {
                    connect(app, &routes, stream, address, place, &ending);
                }
                // There are too many open files, say: others may be closed soon.
                Err(error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    drop(listener);
    looking.abort();
    app.stop();
    tracing::info!("stopping: requests in flight are answered first");
    if timeout(app.options.drain, ending.shutdown()).await.is_err() {
        tracing::warn!("some requests were not answered in time");
    }
    Ok(())
}

/// Serves a connection, in the background.
fn connect(
    app: &Arc<App>,
    routes: &axum::Router,
    stream: TcpStream,
    address: SocketAddr,
    place: OwnedSemaphorePermit,
    ending: &GracefulShutdown,
) {
    // Small answers must not wait for company; where that cannot be set, they do.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    // A client that does not take in its answer is cut off.
    stream.set_write_timeout(Some(app.options.timeout));
    let routes = routes.clone();
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Client(address));
        routes.clone().call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    let connection = ending.watch(connection);
    let app = app.clone();
    app.figures.connections.inc();
    tokio::spawn(async move {
        let _place = place;
        if let Err(error) = connection.await {
            tracing::debug!("{address}: {error}");
        }
        app.figures.connections.dec();
    });
}

/// Looks again and again whether there are newer models.
async fn look(app: Arc<App>) {
    let mut moments = interval(LOOK);
    moments.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        moments.tick().await;
        let app = app.clone();
        let looked = tokio::task::spawn_blocking(move || app.look(false)).await;
        if looked.is_err() {
            tracing::error!("a newer model could not be opened");
        }
    }
}

/// Opens all models and reads the keys again whenever `hang_up` says so. It never ends.
async fn again_on(app: Arc<App>, mut hang_up: tokio::sync::mpsc::Receiver<()>) {
    while hang_up.recv().await.is_some() {
        let app = app.clone();
        let again = move || {
            app.read_keys();
            app.look(true);
        };
        if tokio::task::spawn_blocking(again).await.is_err() {
            tracing::error!("the models could not be opened again");
        }
    }
    std::future::pending().await
}

/// What is done when the process is asked to end, and what tells that SIGHUP came. A second request to end
/// is obeyed at once.
#[cfg(unix)]
fn signals() -> io::Result<(impl Future<Output = ()>, tokio::sync::mpsc::Receiver<()>)> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut hang_up = signal(SignalKind::hangup())?;
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        while hang_up.recv().await.is_some() {
            // One that waits is enough.
            let _ = sender.try_send(());
        }
    });
    let stop = async move {
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        tokio::spawn(async move {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            std::process::exit(130);
        });
    };
    Ok((stop, receiver))
}

#[cfg(not(unix))]
fn signals() -> io::Result<(impl Future<Output = ()>, tokio::sync::mpsc::Receiver<()>)> {
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let stop = async move {
        let _kept = sender;
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    Ok((stop, receiver))
}
