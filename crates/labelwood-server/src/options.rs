//! What can be set about a service.

use crate::keys::KeyError;
use labelwood::run::ThreadError;
use labelwood::store::{self, Load, StoreError};
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// What can be set about a service. The default is safe on a machine of one's own and behind a proxy.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many threads predict; 0 means as many as the machine gives.
    pub threads: usize,
    /// How the files of models are opened. They are copied by default: a file that is written over while
    /// it is mapped would end the process.
    pub load: store::Options,
    /// The most bytes of a request's body, and of a line of a stream.
    pub max_body: usize,
    /// The most texts or vectors of one request.
    pub max_documents: usize,
    /// How many requests may be worked on or wait at once; further ones are told to come back.
    pub max_concurrent: usize,
    /// How many connections are open at once; further ones wait to be accepted.
    pub max_connections: usize,
    /// How long a request may take to arrive, then how long its answer, and then how long the client to
    /// take in a piece of it.
    pub timeout: Duration,
    /// How long requests may go on after the server was asked to stop.
    pub drain: Duration,
    /// Whether clients may add rows to models.
    pub allow_learn: bool,
    /// The file with the keys of which a client must have one; nothing if anybody may ask.
    pub keys: Option<PathBuf>,
    /// From which web sites a browser may ask: origins such as `https://example.org`, or `*` for all.
    pub cors: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: 0,
            load: store::Options { load: Load::Copy, verify: true },
            max_body: 2_000_000,
            max_documents: 1000,
            max_concurrent: 256,
            max_connections: 1024,
            timeout: Duration::from_secs(30),
            drain: Duration::from_secs(30),
            allow_learn: false,
            keys: None,
            cors: Vec::new(),
        }
    }
}

/// Why a service does not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// A model cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There are no threads.
    #[error(transparent)]
    Threads(#[from] ThreadError),
    /// The keys cannot be read.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// What was asked for is impossible.
    #[error("{0}")]
    Refused(String),
}
