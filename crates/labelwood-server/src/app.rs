//! What all requests share.

use crate::access_log::AccessLog;
use crate::figures::Figures;
use crate::http::problem::Problem;
use crate::keys::Keys;
use crate::options::{Options, StartError};
use crate::project::{Looked, Opened, Project};
use crate::work::{Answer, Ask, Input, NoAnswer, Work};
use labelwood::run::Pool;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::{Semaphore, SemaphorePermit};

/// How many bodies of the largest size are held at once, all requests together.
const BODIES: usize = 64;
/// How many streams are open at once.
pub(crate) const STREAMS: usize = 64;
/// How many clients wait at once for what they sent to be learned.
const LEARNERS: usize = 8;

/// The service: its models, its threads and its limits.
pub(crate) struct App {
    pub(crate) options: Options,
    pub(crate) projects: Vec<Arc<Project>>,
    pub(crate) work: Work,
    /// Opens and updates models.
    pub(crate) pool: Pool,
    pub(crate) figures: Arc<Figures>,
    pub(crate) log: Option<AccessLog>,
    keys: RwLock<Option<Arc<Keys>>>,
    slots: Semaphore,
    pub(crate) bodies: Arc<Semaphore>,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) learners: Arc<Semaphore>,
    is_stopping: AtomicBool,
}

impl App {
    pub(crate) fn new(
        projects: Vec<Project>,
        options: Options,
        pool: Pool,
        log: Option<AccessLog>,
    ) -> Result<Self, StartError> {
        if projects.is_empty() {
            return Err(StartError::Refused("there is no model to serve".to_owned()));
        }
        for (at, project) in projects.iter().enumerate() {
            check_name(&project.name)?;
            if projects[..at].iter().any(|other| other.name == project.name) {
                let name = &project.name;
                return Err(StartError::Refused(format!(
                    "two models are called `{name}`: name one of them, as in other={name}"
                )));
            }
        }
        let keys = options.keys.as_deref().map(Keys::read).transpose()?;
        let figures = Arc::new(Figures::default());
        let called = figures.clone();
        let room = (BODIES * options.max_body).div_ceil(crate::http::body::PIECE);
        Ok(App {
            work: Work::start(pool.threads(), move |rows| called.called(rows))?,
            projects: projects.into_iter().map(Arc::new).collect(),
            pool,
            figures,
            log,
            keys: RwLock::new(keys.map(Arc::new)),
            slots: Semaphore::new(options.max_concurrent),
            bodies: Arc::new(Semaphore::new(room.min(Semaphore::MAX_PERMITS))),
            streams: Arc::new(Semaphore::new(STREAMS)),
            learners: Arc::new(Semaphore::new(LEARNERS)),
            is_stopping: AtomicBool::new(false),
            options,
        })
    }

    /// The project of a name.
    pub(crate) fn project(&self, name: &str) -> Result<&Arc<Project>, Problem> {
        let found = self.projects.iter().find(|project| project.name == name);
        found.ok_or_else(|| Problem::missing(format!("there is no model `{name}` here")))
    }

    /// A place among the requests that are worked on.
    pub(crate) fn slot(&self) -> Result<SemaphorePermit<'_>, Problem> {
        let busy = |_| Problem::busy("there is too much to do at the moment: ask again");
        self.slots.try_acquire().map_err(busy)
    }

    /// What a model says of rows, if there is room and time for it.
    pub(crate) async fn predict(
        &self,
        project: &Project,
        opened: &Arc<Opened>,
        input: Input,
        ask: Ask,
    ) -> Result<Vec<Answer>, Problem> {
        let _slot = self.slot()?;
        self.figures.predicted(&project.name, input.rows());
        self.in_time(self.work.predict(opened, input, ask)).await?
    }

    /// The same for rows that wait for their turn instead of being refused.
    pub(crate) async fn predict_patiently(
        &self,
        project: &Project,
        opened: &Arc<Opened>,
        input: Input,
        ask: Ask,
    ) -> Result<Vec<Answer>, Problem> {
        let _slot = self.slots.acquire().await.map_err(|_| NoAnswer::Stopping)?;
        self.figures.predicted(&project.name, input.rows());
        Ok(self.work.predict(opened, input, ask).await?)
    }

    /// The result of work on one of the threads, if there is room and time for it.
    pub(crate) async fn call<R: Send + 'static>(
        &self,
        work: impl FnOnce(&labelwood::run::Task) -> R + Send + 'static,
    ) -> Result<R, Problem> {
        let _slot = self.slot()?;
        self.in_time(self.work.call(work)).await?
    }

    async fn in_time<T, E: Into<Problem>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<Result<T, Problem>, Problem> {
        let late = |_| {
            let seconds = self.options.timeout.as_secs();
            Problem::busy(format!("there was no answer within {seconds} s: send less at once"))
        };
        let outcome = tokio::time::timeout(self.options.timeout, work).await.map_err(late)?;
        Ok(outcome.map_err(Into::into))
    }

    /// The keys of which a client must have one.
    pub(crate) fn keys(&self) -> Option<Arc<Keys>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the keys again. If that fails, the old ones hold.
    pub(crate) fn read_keys(&self) {
        let Some(file) = &self.options.keys else { return };
        match Keys::read(file) {
            Ok(keys) => {
                *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(keys));
            }
            Err(error) => tracing::warn!("{error}; the keys are as they were"),
        }
    }

    /// Opens models whose folders changed, or all of them.
    pub(crate) fn look(&self, must: bool) {
        self.projects.iter().for_each(|project| self.look_at(project, must));
    }

    /// Opens the model of a project if its folder changed, or in any case.
    pub(crate) fn look_at(&self, project: &Project, must: bool) {
        let name = &project.name;
        match project.look(must, self.options.load, &self.pool.task()) {
            Looked::Same => {}
            Looked::Exchanged => {
                tracing::info!("{name}: the model is now {}", project.current().id);
                self.figures.reloaded(name, "exchanged");
            }
            Looked::Refused(error) => {
                tracing::warn!(
                    "{name}: {error}; the old model stays, and the new one is tried again"
                );
                self.figures.reloaded(name, "refused");
            }
        }
    }

    /// Whether the server is about to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }
}

/// Refuses names that need care in a URL.
fn check_name(name: &str) -> Result<(), StartError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.bytes().all(is_plain) && (1..=64).contains(&name.len()) && !name.starts_with('.') {
        return Ok(());
    }
    Err(StartError::Refused(format!(
        "`{name}` cannot be the name of a model, which has up to 64 letters, digits, `-`, `_` and `.`: name it, \
         as in books=FOLDER"
    )))
}
