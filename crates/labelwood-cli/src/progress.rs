//! The progress bar, fed by the library's [`Task`](labelwood::run::Task).
//!
//! One bar serves all stages of a run one after the other. It is drawn only on a terminal, so that
//! log files and pipes stay clean.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use labelwood::run::Progress;

/// A bar on stderr, or one that is never drawn.
pub fn bar(visible: bool) -> ProgressBar {
    if !visible {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(
        "{msg} [{bar:32}] {human_pos}/{human_len} after {elapsed}, {eta} to go",
    )
    .expect("the template is valid");
    ProgressBar::no_length().with_style(style.progress_chars("=> "))
}

/// How often the clock of the bar is drawn when nothing is reported.
const TICK: Duration = Duration::from_millis(500);

/// Moves `bar` with each report; a new stage starts the bar and its clock afresh.
///
/// Threads report in any order, so within a stage the bar only moves forward.
pub fn observer(bar: ProgressBar) -> impl Fn(Progress) + Send + Sync + 'static {
    keep_ticking(&bar);
    let current = Mutex::new(None);
    move |progress| {
        let mut stage = current.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if *stage != Some(progress.stage) {
            *stage = Some(progress.stage);
            bar.set_message(progress.stage.name());
            bar.set_length(progress.total);
            bar.reset();
        }
        bar.set_length(progress.total);
        bar.set_position(progress.done.max(bar.position()));
    }
}

/// Draws the clock of a visible bar on a thread of its own. Not `enable_steady_tick`, which panics
/// where no thread can start; without one the bar only moves less often.
fn keep_ticking(bar: &ProgressBar) {
    if bar.is_hidden() {
        return;
    }
    let bar = bar.downgrade();
    let _ = thread::Builder::new().name("progress".to_owned()).spawn(move || {
        while let Some(bar) = bar.upgrade() {
            if !bar.is_finished() {
                bar.tick();
            }
            drop(bar);
            thread::sleep(TICK);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use labelwood::run::Stage;

    #[test]
    fn late_reports_do_not_move_the_bar_back_and_a_new_stage_starts_it_afresh() {
        let bar = ProgressBar::hidden();
        let observe = observer(bar.clone());
        observe(Progress { stage: Stage::Units("trees"), done: 6, total: 50 });
        observe(Progress { stage: Stage::Units("trees"), done: 5, total: 50 });
        assert_eq!((bar.message().as_str(), bar.position(), bar.length()), ("trees", 6, Some(50)));
        observe(Progress { stage: Stage::Rows, done: 1, total: 9 });
        assert_eq!((bar.message().as_str(), bar.position(), bar.length()), ("rows", 1, Some(9)));
    }

    #[test]
    fn the_visible_bar_has_a_valid_template() {
        bar(true).finish_and_clear();
    }
}
