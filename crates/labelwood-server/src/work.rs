//! The threads that predict, and the queue before them.
//!
//! Requests that wait while a thread is busy are answered together by one call of the model, which
//! takes less than one call each. Nothing ever waits for company: a thread that is free takes what there is.
//! Each thread works alone, with a pool of its own, so that a small request wakes one thread only.

use crate::project::Opened;
use labelwood::app::{at_least, predict_at_least};
use labelwood::model::Model;
use labelwood::run::{Pool, Task, ThreadError};
use labelwood::sparse::{Csr, Predictions, Query, Rows, Scored};
use labelwood::text::TextError;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use thiserror::Error;
use tokio::sync::oneshot;

/// The most rows that are predicted by one call.
pub(crate) const MOST_ROWS: usize = 64;
/// About how many bytes of text are read for one call.
const MOST_BYTES: usize = 64 << 10;
/// How many labels a row gets, unless that is stated.
pub(crate) const DEFAULT_K: usize = 5;
/// The most labels that a row gets.
pub(crate) const MOST_LABELS: usize = 1000;

/// Rows as they come with a request.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Texts for a model of text.
    Texts(Vec<String>),
    /// Rows for any model.
    Vectors(Csr),
}

/// Which labels are asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ask {
    /// How many; nothing for as many as reach the score, or a few if there is no least score either.
    pub k: Option<usize>,
    /// The least score.
    pub least: Option<f32>,
}

/// What the model says of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// The best labels.
    pub labels: Vec<Scored>,
    /// Whether the model knows nothing of what is in the row.
    pub is_unknown: bool,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The server is about to end.
    #[error("the server is stopping")]
    Stopping,
    /// The work panicked, which is a mistake in the program.
    #[error("the model failed on this request")]
    Failed,
}

/// The threads that predict. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Work {
    queue: Arc<Queue>,
    threads: usize,
}

/// What waits for a thread.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Default, Debug)]
struct State {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

/// Told of the rows of every call.
type OnCall = dyn Fn(usize) + Send + Sync;

enum Job {
    Predict(Predict),
    Other(Box<dyn FnOnce(&Task) + Send>),
}

/// Rows of one request.
struct Predict {
    opened: Arc<Opened>,
    input: Input,
    ask: Ask,
    answer: oneshot::Sender<Result<Vec<Answer>, NoAnswer>>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Job::Predict(_) => "Predict",
            Job::Other(_) => "Other",
        })
    }
}

impl Work {
    /// Starts so many threads; `on_call` is told how many rows each call of a model has.
    pub(crate) fn start(
        threads: usize,
        on_call: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<Self, ThreadError> {
        let work = Work { queue: Arc::default(), threads };
        let on_call: Arc<OnCall> = Arc::new(on_call);
        for index in 0..threads {
            let (queue, on_call) = (work.queue.clone(), on_call.clone());
            let (started, outcome) = mpsc::channel();
            let run = move || match Pool::here() {
                Ok(pool) => {
                    // The receiver waits for this.
                    let _ = started.send(Ok(()));
                    queue.work(threads, &pool, &*on_call);
                }
                Err(error) => drop(started.send(Err(error))),
            };
            let name = format!("labelwood-{index}");
            if thread::Builder::new().name(name).spawn(run).is_err() {
                // As the library says it where it gets no threads.
                return Pool::new(usize::MAX).map(|_| work);
            }
            if let Ok(Err(error)) = outcome.recv() {
                return Err(error);
            }
        }
        Ok(work)
    }

    /// How many pieces of work wait.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.lock().jobs.len()
    }

    /// What a model says of some rows.
    pub(crate) async fn predict(
        &self,
        opened: &Arc<Opened>,
        input: Input,
        ask: Ask,
    ) -> Result<Vec<Answer>, NoAnswer> {
        let mut pieces = pieces(input);
        if pieces.len() == 1 {
            return self.submit(opened, pieces.remove(0), ask).await;
        }
        let mut answers = Vec::new();
        // As many pieces at once as there are threads, so that others get their turn in between.
        let mut rest = pieces.into_iter().peekable();
        while rest.peek().is_some() {
            let now: Vec<_> = rest.by_ref().take(self.threads).collect();
            let now: Vec<_> = now.into_iter().map(|it| self.submit(opened, it, ask)).collect();
            for piece in now {
                answers.extend(piece.await?);
            }
        }
        Ok(answers)
    }

    /// Runs other work on one of the threads.
    pub(crate) async fn call<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Task) -> R + Send + 'static,
    ) -> Result<R, NoAnswer> {
        let (answer, receiver) = oneshot::channel();
        self.queue.push(Job::Other(Box::new(move |task| {
            if answer.is_closed() {
                return;
            }
            let result = catch_unwind(AssertUnwindSafe(|| work(task)));
            let _ = answer.send(result.map_err(|_| NoAnswer::Failed));
        })));
        receiver.await.unwrap_or(Err(NoAnswer::Stopping))
    }

    /// Queues rows at once; the result is there when they are predicted.
    fn submit(
        &self,
        opened: &Arc<Opened>,
        input: Input,
        ask: Ask,
    ) -> impl Future<Output = Result<Vec<Answer>, NoAnswer>> + use<> {
        let (answer, receiver) = oneshot::channel();
        self.queue.push(Job::Predict(Predict { opened: opened.clone(), input, ask, answer }));
        async move { receiver.await.unwrap_or(Err(NoAnswer::Stopping)) }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.queue.lock().is_closed = true;
        self.queue.ready.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that may panic runs while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: Job) {
        self.lock().jobs.push_back(job);
        self.ready.notify_one();
    }

    /// Works until the queue is closed and empty.
    fn work(&self, threads: usize, pool: &Pool, on_call: &OnCall) {
        let task = pool.task();
        while let Some(jobs) = self.next(threads) {
            let mut batch = Vec::with_capacity(jobs.len());
            for job in jobs {
                match job {
                    Job::Predict(job) if job.answer.is_closed() => {}
                    Job::Predict(job) => batch.push(job),
                    Job::Other(work) => work(&task),
                }
            }
            if !batch.is_empty() {
                answer(batch, &task, on_call);
            }
        }
    }

    /// What a thread does next: one piece of other work, or its share of the rows that wait and can be
    /// predicted by one call.
    fn next(&self, threads: usize) -> Option<Vec<Job>> {
        let mut state = self.lock();
        let first = loop {
            match state.jobs.pop_front() {
                Some(job) => break job,
                None if state.is_closed => return None,
                None => {
                    let waited = self.ready.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        let Job::Predict(first) = first else { return Some(vec![first]) };
        let share = (state.jobs.len() + 1).div_ceil(threads);
        let (mut rows, mut bytes) = (first.input.rows(), first.input.bytes());
        let mut taken = vec![Job::Predict(first)];
        while taken.len() < share && rows < MOST_ROWS && bytes < MOST_BYTES {
            let (Some(Job::Predict(next)), Some(Job::Predict(first))) =
                (state.jobs.front(), taken.first())
            else {
                break;
            };
            if !next.goes_with(first) || rows + next.input.rows() > MOST_ROWS {
                break;
            }
            rows += next.input.rows();
            bytes += next.input.bytes();
            taken.extend(state.jobs.pop_front());
        }
        Some(taken)
    }
}

impl Predict {
    /// Whether one call of the model can answer both.
    fn goes_with(&self, other: &Predict) -> bool {
        let are_alike =
            matches!(self.input, Input::Texts(_)) == matches!(other.input, Input::Texts(_));
        are_alike && self.ask == other.ask && Arc::ptr_eq(&self.opened, &other.opened)
    }
}

impl Input {
    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Input::Texts(texts) => texts.len(),
            Input::Vectors(rows) => rows.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Input::Texts(texts) => texts.iter().map(String::len).sum(),
            Input::Vectors(rows) => 8 * rows.entries(),
        }
    }
}

/// Divides the rows of a request into pieces of which each is one call.
fn pieces(input: Input) -> Vec<Input> {
    if input.rows() <= MOST_ROWS && input.bytes() <= MOST_BYTES {
        return vec![input];
    }
    match input {
        Input::Texts(texts) => {
            let (mut pieces, mut piece, mut bytes) = (Vec::new(), Vec::new(), 0);
            for text in texts {
                if piece.len() == MOST_ROWS / 2 || (bytes + text.len() > MOST_BYTES && bytes > 0) {
                    pieces.push(Input::Texts(std::mem::take(&mut piece)));
                    bytes = 0;
                }
                bytes += text.len();
                piece.push(text);
            }
            pieces.push(Input::Texts(piece));
            pieces
        }
        Input::Vectors(rows) => (0..rows.len())
            .step_by(MOST_ROWS / 2)
            .map(|start| start..(start + MOST_ROWS / 2).min(rows.len()))
            .map(|range| Input::Vectors(rows.view().slice(range)))
            .collect(),
    }
}

/// Answers requests by one call of their model; if that panics, each by a call of its own, so that one of
/// them does no harm to the others.
fn answer(batch: Vec<Predict>, task: &Task, on_call: &OnCall) {
    on_call(batch.iter().map(|job| job.input.rows()).sum());
    let result = catch_unwind(AssertUnwindSafe(|| predict(&batch, task)));
    match result {
        Ok(Ok(answers)) => {
            let mut answers = answers.into_iter();
            for job in batch {
                let own = answers.by_ref().take(job.input.rows()).collect();
                let _ = job.answer.send(Ok(own));
            }
        }
        // Texts for a model of vectors, which were to be refused before.
        Ok(Err(_)) => fail(batch),
        Err(_) if batch.len() > 1 => {
            tracing::error!("a prediction panicked: its requests are answered one by one");
            batch.into_iter().for_each(|job| answer(vec![job], task, on_call));
        }
        Err(_) => fail(batch),
    }
}

fn fail(batch: Vec<Predict>) {
    tracing::error!("a request could not be predicted");
    for job in batch {
        let _ = job.answer.send(Err(NoAnswer::Failed));
    }
}

/// The answers to the rows of requests that go with each other, in order.
fn predict(batch: &[Predict], task: &Task) -> Result<Vec<Answer>, TextError> {
    let Some(first) = batch.first() else { return Ok(Vec::new()) };
    let model = first.opened.model();
    let rows = rows(batch, model, task)?;
    let predictions = asked(model, &rows, first.ask, task)?;
    let most = first.ask.k.unwrap_or(MOST_LABELS);
    let answers = predictions.rows().enumerate().map(|(row, labels)| Answer {
        labels: labels.iter().take(most).copied().collect(),
        is_unknown: rows.view().is_unknown(row),
    });
    Ok(answers.collect())
}

/// The rows of all requests.
fn rows(batch: &[Predict], model: &Model, task: &Task) -> Result<Rows, TextError> {
    let mut texts: Vec<&str> = Vec::new();
    let mut vectors = Csr::new(model.manifest().features as usize);
    for job in batch {
        match &job.input {
            Input::Texts(all) => texts.extend(all.iter().map(String::as_str)),
            Input::Vectors(all) => {
                for row in all.rows() {
                    let pushed = vectors.push_row(row.indices, row.values);
                    pushed.expect("rows were checked when the request came");
                }
            }
        }
    }
    if vectors.is_empty() { model.read_texts(&texts, task) } else { Ok(vectors.into()) }
}

/// The labels that are asked for.
fn asked(model: &Model, rows: &Rows, ask: Ask, task: &Task) -> Result<Predictions, TextError> {
    let query = Query::top(ask.k.unwrap_or(DEFAULT_K).max(1));
    Ok(match ask {
        Ask { k: None, least: Some(least) } => {
            predict_at_least(model, rows.view(), least, 0, query, task)?
        }
        Ask { least: Some(least), .. } => {
            at_least(&model.predict(rows.view(), query, task)?, least, 0)
        }
        Ask { least: None, .. } => model.predict(rows.view(), query, task)?,
    })
}
