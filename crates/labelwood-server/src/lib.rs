//! The HTTP service of labelwood models: Annif's REST API, one of our own, and a page for people.
//!
//! [`Server::open`] opens the models and starts the threads that predict; [`Server::run`] serves until a
//! signal comes. What can be set is in [`Options`], whose default is safe: nobody may change a model, and
//! size, time and number of requests are limited.
//!
//! A request passes `http/observe.rs` (id, key, access log, figures), a handler of `http/`, and the queue of
//! `work.rs`, where threads of their own take together what waits. `project.rs` exchanges models for newer ones.
//!
//! ```
//! use labelwood_server::{Options, Server};
//! let options = Options { threads: 1, ..Options::default() };
//! let error = Server::open(&[("books".to_owned(), "nowhere".into())], options, None).unwrap_err();
//! assert!(error.to_string().starts_with("nowhere: there is no model here"));
//! ```

#![warn(unreachable_pub)]

mod access_log;
mod app;
mod figures;
mod http;
mod keys;
mod listen;
mod options;
mod project;
mod work;

pub use keys::KeyError;
pub use options::{Options, StartError};

use access_log::AccessLog;
use app::App;
use axum::Router;
use labelwood::model::Model;
use labelwood::run::Pool;
use project::Project;
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

/// Models, ready to be asked over HTTP.
#[derive(Clone)]
pub struct Server {
    app: Arc<App>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_map().entries(self.models()).finish()
    }
}

impl Server {
    /// Opens models, each from a folder and under a name, and starts the threads that predict. Lines of
    /// the access log go to `log`.
    pub fn open(
        models: &[(String, PathBuf)],
        options: Options,
        log: Option<Box<dyn Write + Send>>,
    ) -> Result<Self, StartError> {
        let pool = Pool::new(options.threads)?;
        let task = pool.task();
        let projects = models
            .iter()
            .map(|(name, folder)| Project::open(name, folder, options.load, &task))
            .collect::<Result<_, _>>()?;
        Self::start(projects, options, pool, log)
    }

    /// Serves models that are in memory, each under a name.
    pub fn of_models(models: Vec<(String, Model)>, options: Options) -> Result<Self, StartError> {
        let pool = Pool::new(options.threads)?;
        let projects = models.into_iter().map(|(name, model)| Project::in_memory(&name, model));
        Self::start(projects.collect(), options, pool, None)
    }

    fn start(
        projects: Vec<Project>,
        options: Options,
        pool: Pool,
        log: Option<Box<dyn Write + Send>>,
    ) -> Result<Self, StartError> {
        let log = log.map(AccessLog::start).transpose();
        let log = log.map_err(|error| StartError::Refused(format!("the access log: {error}")))?;
        Ok(Server { app: Arc::new(App::new(projects, options, pool, log)?) })
    }

    /// All that is answered, for a server of one's own or for tests.
    pub fn router(&self) -> Router {
        http::router(&self.app)
    }

    /// The names of the models with the ids of what is served.
    pub fn models(&self) -> Vec<(String, String)> {
        let pair = |project: &Arc<Project>| (project.name.clone(), project.current().id.clone());
        self.app.projects.iter().map(pair).collect()
    }

    /// Opens all models and reads the keys again, as SIGHUP does. Requests in flight finish on the models that
    /// they have; a model that cannot be opened stays the old one.
    pub fn reload(&self) {
        self.app.read_keys();
        self.app.look(true);
    }

    /// Serves until SIGINT or SIGTERM comes, and then until the requests in flight are answered. SIGHUP
    /// opens all models and reads the keys again.
    pub fn run(&self, listener: TcpListener) -> io::Result<()> {
        listen::run(&self.app, listener)
    }

    /// Serves until `stop` is done, on a runtime of the caller's.
    pub async fn serve(
        &self,
        listener: tokio::net::TcpListener,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        listen::serve(&self.app, listener, stop).await
    }
}
