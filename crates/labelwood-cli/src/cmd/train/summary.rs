//! What came of a training, for programs and for people.

use anyhow::Result;
use serde::Serialize;

use super::fit::Fitted;
use crate::machine::{self, Spent};
use crate::output::print;

/// The line that `train --json` prints.
#[derive(serde::Serialize)]
pub struct Summary {
    seconds: Stages<f64>,
    cpu_seconds: Stages<Option<f64>>,
    model_bytes: u64,
    peak_rss_bytes: Option<u64>,
    settings: serde_json::Value,
}

/// A figure of each stage.
#[derive(serde::Serialize)]
struct Stages<T> {
    read: T,
    fit: T,
    save: T,
}

/// The summary, and the test if there was one.
#[derive(serde::Serialize)]
struct Line<'a, T> {
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<T>,
}

impl Summary {
    /// Sums up one training or several.
    pub fn new(read: Spent, fitted: &[Fitted]) -> Self {
        let sum = |stage: fn(&Fitted) -> Spent| {
            fitted.iter().map(stage).fold(Spent::NOTHING, Spent::plus)
        };
        let (fit, save) = (sum(|one| one.fit), sum(|one| one.save));
        Summary {
            seconds: Stages { read: read.seconds, fit: fit.seconds, save: save.seconds },
            cpu_seconds: Stages {
                read: read.cpu_seconds,
                fit: fit.cpu_seconds,
                save: save.cpu_seconds,
            },
            model_bytes: fitted.iter().map(|one| one.bytes).sum(),
            peak_rss_bytes: machine::peak_memory().map(|peak| peak.0),
            settings: fitted.first().map(|first| first.settings.values()).unwrap_or_default(),
        }
    }

    /// Prints it as one line of JSON.
    pub fn print_json(&self, test: Option<impl Serialize>) -> Result<()> {
        let line = serde_json::to_string(&Line { summary: self, test })?;
        print(&format_args!("{line}\n"))
    }
}
