//! What came of a training, for programs.

use anyhow::Result;
use labelwood::run::Spent;
use labelwood::settings::with_short_numbers;
use serde::Serialize;

use super::fit::Fitted;
use crate::machine::{self, sum};
use crate::output::print_json;

/// The line that `train --json` prints.
#[derive(Serialize)]
struct Summary<T> {
    seconds: Stages<f64>,
    cpu_seconds: Stages<Option<f64>>,
    model_bytes: u64,
    peak_rss_bytes: Option<u64>,
    settings: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<T>,
}

/// A figure of each stage.
#[derive(Serialize)]
struct Stages<T> {
    read: T,
    fit: T,
    save: T,
}

/// Prints what one training or several took, and the test if there was one.
pub fn print_summary(read: Spent, fitted: &[Fitted], test: Option<impl Serialize>) -> Result<()> {
    let fit = sum(fitted.iter().map(|one| one.fit));
    let save = sum(fitted.iter().map(|one| one.save));
    let (seconds, cpu) = (|stage: Spent| stage.seconds, |stage: Spent| stage.cpu_seconds);
    print_json(&Summary {
        seconds: Stages { read: seconds(read), fit: seconds(fit), save: seconds(save) },
        cpu_seconds: Stages { read: cpu(read), fit: cpu(fit), save: cpu(save) },
        model_bytes: fitted.iter().map(|one| one.bytes).sum(),
        peak_rss_bytes: machine::peak_memory().map(|peak| peak.0),
        settings: fitted
            .first()
            .map(|first| with_short_numbers(&first.settings.values()))
            .unwrap_or_default(),
        test,
    })
}
