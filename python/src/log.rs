//! The library's messages, on their way to Python's `logging`.
//!
//! Messages come from threads that do not hold the interpreter's lock, so they are kept until one
//! that does passes by.

use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

static KEPT: Mutex<Vec<(u8, String)>> = Mutex::new(Vec::new());
/// Asked first, so that a call without messages takes no lock.
static ANY: AtomicBool = AtomicBool::new(false);

fn kept() -> MutexGuard<'static, Vec<(u8, String)>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the library's messages from now on.
pub fn start() {
    // Only fails if it is done already.
    let _ = tracing::subscriber::set_global_default(Keeper);
}

/// Hands all messages so far to the logger `labelwood`.
pub fn flush(py: Python<'_>) -> PyResult<()> {
    if !ANY.swap(false, Ordering::Relaxed) {
        return Ok(());
    }
    let messages = std::mem::take(&mut *kept());
    let logger = py.import("logging")?.call_method1("getLogger", ("labelwood",))?;
    for (level, text) in messages {
        logger.call_method1("log", (level, "%s", text))?;
    }
    Ok(())
}

/// Keeps events; spans are not looked at.
struct Keeper;

impl Subscriber for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
    }

    fn event(&self, event: &Event<'_>) {
        let level = match *event.metadata().level() {
            Level::ERROR => 40,
            Level::WARN => 30,
            _ => 20,
        };
        let mut text = Text::default();
        event.record(&mut text);
        kept().push((level, text.0));
        ANY.store(true, Ordering::Relaxed);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The message, then the other fields as `name=value`.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let space = if self.0.is_empty() { "" } else { " " };
        let written = match field.name() {
            "message" => write!(self.0, "{space}{value:?}"),
            name => write!(self.0, "{space}{name}={value:?}"),
        };
        written.expect("a string takes all");
    }
}
