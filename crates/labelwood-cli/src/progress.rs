//! The progress bar, fed by the library's [`Task`](labelwood::run::Task).
//!
//! One line shows what is being done now, how much of all the work is done, and how long the rest will
//! take. It is drawn only on a terminal, so that log files and pipes stay clean, and never wraps.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use labelwood::run::{Progress, Stage};
use labelwood::words::counted;

use crate::terminal::{self, shortened, width};

/// A bar on stderr, or one that is never drawn.
pub fn bar(visible: bool) -> ProgressBar {
    if !visible {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg}").expect("the template is valid");
    ProgressBar::no_length().with_style(style)
}

/// How often the clock of the bar is drawn when nothing is reported.
const TICK: Duration = Duration::from_millis(500);
/// An estimate is shown after so many seconds, and once so much is done: earlier ones jump.
const EARLIEST: f64 = 3.0;
const LEAST_DONE: f64 = 0.02;
/// What fell by more than this is other work, not rounding.
const SLACK: f64 = 0.01;
/// The least and the most characters of the bar itself.
const BAR: (usize, usize) = (4, 24);

/// Draws `bar` anew with each report and while there are none. Work that must end after `limit`, counted
/// from its start, is measured by the time alone.
pub fn observer(
    bar: ProgressBar,
    limit: Option<(Instant, Duration)>,
) -> impl Fn(Progress) + Send + Sync + 'static {
    let shown = Arc::new(Shown { work: Mutex::new(None), limit });
    keep_ticking(&bar, shown.clone());
    move |progress| {
        let now = Instant::now();
        let mut work = shown.work();
        match work.as_mut() {
            Some(work) if !work.is_over(&progress) => work.note(progress, now),
            _ => *work = Some(Work::new(progress, now)),
        }
        drop(work);
        shown.draw(&bar, now);
    }
}

/// What is drawn.
struct Shown {
    work: Mutex<Option<Work>>,
    limit: Option<(Instant, Duration)>,
}

impl Shown {
    fn work(&self) -> MutexGuard<'_, Option<Work>> {
        self.work.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn draw(&self, bar: &ProgressBar, now: Instant) {
        if bar.is_hidden() {
            return;
        }
        let line = self.work().as_ref().map(|work| {
            let clock = work.clock(self.limit, now);
            line(&what(&work.progress), clock, terminal::width_of(&io::stderr()))
        });
        if let Some(line) = line {
            bar.set_message(line);
        }
    }
}

/// Draws the clock of a visible bar on a thread of its own. Not `enable_steady_tick`, which panics
/// where no thread can start; without one the bar only moves less often.
fn keep_ticking(bar: &ProgressBar, shown: Arc<Shown>) {
    if bar.is_hidden() {
        return;
    }
    let bar = bar.downgrade();
    let _ = thread::Builder::new().name("progress".to_owned()).spawn(move || {
        while let Some(bar) = bar.upgrade() {
            if !bar.is_finished() {
                shown.draw(&bar, Instant::now());
            }
            drop(bar);
            thread::sleep(TICK);
        }
    });
}

/// Some work under way.
struct Work {
    /// What was told last.
    progress: Progress,
    /// When the first report came, and how much was done then.
    start: Instant,
    first: f64,
    /// How much of the whole is done: it never falls.
    overall: f64,
    /// The seconds that were to go, and when.
    estimate: Option<(f64, Instant)>,
}

/// The figures beside the bar.
#[derive(Clone, Copy)]
struct Clock {
    /// How much is done, from 0 to 1.
    done: f64,
    elapsed: Duration,
    /// Seconds to go, if anything is known about them, and whether that is the most.
    to_go: Option<f64>,
    is_most: bool,
}

impl Work {
    fn new(progress: Progress, now: Instant) -> Self {
        let overall = progress.overall;
        Work { progress, start: now, first: overall, overall, estimate: None }
    }

    /// Whether a report is of other work, which begins afresh.
    fn is_over(&self, progress: &Progress) -> bool {
        let is_same = (self.progress.stage, self.progress.part) == (progress.stage, progress.part);
        !is_same && progress.overall + SLACK < self.overall
    }

    /// Takes in a report. Threads report in any order, so nothing moves back.
    fn note(&mut self, progress: Progress, now: Instant) {
        let before = self.progress;
        self.progress = progress;
        if (before.stage, before.part, before.total)
            == (progress.stage, progress.part, progress.total)
        {
            self.progress.done = progress.done.max(before.done);
        }
        if progress.overall > self.overall {
            self.overall = progress.overall;
            self.estimate_anew(now);
        }
    }

    /// Moves the estimate towards what the whole time until now says; the longer since the last one,
    /// the more.
    fn estimate_anew(&mut self, now: Instant) {
        let Some(plain) = self.plain_estimate(now) else { return };
        let estimate = match self.estimate {
            None => plain,
            Some((before, at)) => {
                let since = (now - at).as_secs_f64();
                let weight = since / (since + (now - self.start).as_secs_f64() / 4.0).max(1e-9);
                weight * plain + (1.0 - weight) * (before - since).max(0.0)
            }
        };
        self.estimate = Some((estimate, now));
    }

    /// How long the rest takes if it goes on like this.
    fn plain_estimate(&self, now: Instant) -> Option<f64> {
        let (elapsed, gained) = ((now - self.start).as_secs_f64(), self.overall - self.first);
        let is_known = elapsed >= EARLIEST && gained >= LEAST_DONE;
        is_known.then(|| elapsed * (1.0 - self.overall) / gained)
    }

    fn clock(&self, limit: Option<(Instant, Duration)>, now: Instant) -> Clock {
        if let Some((start, limit)) = limit {
            let elapsed = now - start;
            let done = elapsed.as_secs_f64() / limit.as_secs_f64().max(f64::MIN_POSITIVE);
            let to_go = Some(limit.saturating_sub(elapsed).as_secs_f64());
            return Clock { done: done.min(1.0), elapsed, to_go, is_most: true };
        }
        let left = |(estimate, at): (f64, Instant)| {
            let later = self.plain_estimate(now).unwrap_or(0.0) / 4.0;
            (estimate - (now - at).as_secs_f64()).max(later)
        };
        let to_go = self.estimate.map(left);
        Clock { done: self.overall, elapsed: now - self.start, to_go, is_most: false }
    }
}

/// What is being done now.
fn what(progress: &Progress) -> String {
    let Progress { stage, done, total, part, overall } = *progress;
    let number = done.saturating_add(1).min(total);
    let what = match stage {
        // Nobody knows how many there will be.
        Stage::Rows if overall == 0.0 && done == total => counted(done, "rows"),
        Stage::Units(_) | Stage::Rows if total == 1 => stage.name().to_owned(),
        Stage::Units(_) | Stage::Rows => format!("{done} of {}", counted(total, stage.name())),
        Stage::Trials => format!("trial {number} of {total}"),
        Stage::Writing => format!("writing {done} of {}", counted(total, "rows")),
        _ if total <= 1 => stage.name().to_owned(),
        _ => format!("{}: step {number} of {total}", stage.name()),
    };
    match part {
        Some(part) if total == 1 => part.to_owned(),
        Some(part) => format!("{part}: {what}"),
        None => what,
    }
}

/// The line that is drawn, which leaves the last column of the terminal free. What there is no room for is
/// left out: the percentage first, then the time that has passed, the bar, and the end of what is being done.
fn line(what: &str, clock: Clock, columns: usize) -> String {
    let room = columns.saturating_sub(1);
    let percent = format!("{:.0} %", (100.0 * clock.done).floor());
    let elapsed = clock_time(clock.elapsed);
    let to_go = clock.to_go.map(|seconds| {
        let about = if clock.is_most { "at most" } else { "about" };
        format!("{about} {} to go", rounded_time(seconds))
    });
    let to_go = to_go.as_deref();
    let joined =
        |tail: &[Option<&str>]| tail.iter().flatten().copied().collect::<Vec<_>>().join(", ");
    let tails = [
        (joined(&[Some(&percent), Some(&elapsed), to_go]), 2 * BAR.0),
        (joined(&[Some(&elapsed), to_go]), BAR.0),
        (joined(&[to_go]), BAR.0),
    ];
    for (tail, least) in &tails {
        let used = width(what) + tail.len() + " [] ".len();
        if used + least <= room {
            let long = (room - used).min(BAR.1);
            let filled = (clock.done * long as f64) as usize;
            let head = if filled < long { ">" } else { "" };
            let bar = format!("{}{head}", "=".repeat(filled));
            return format!("{what} [{bar:long$}] {tail}").trim_end().to_owned();
        }
    }
    let tail = &tails[2].0;
    let left = room.saturating_sub(tail.len() + 2);
    if left < 8 {
        return shortened(what, room);
    }
    format!("{}, {tail}", shortened(what, left)).trim_end_matches(", ").to_owned()
}

/// A time that has passed, as clocks show it.
fn clock_time(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A time to come, no more exact than it is known.
fn rounded_time(seconds: f64) -> String {
    let to = |step: f64| ((seconds / step).round() * step) as u64;
    match seconds {
        ..9.5 => format!("{} s", to(1.0).max(1)),
        ..57.5 => format!("{} s", to(5.0)),
        ..600.0 => format!("{} min", to(60.0).max(60) / 60),
        ..3450.0 => format!("{} min", to(300.0) / 60),
        _ => match (to(600.0) / 3600, to(600.0) / 60 % 60) {
            (hours, 0) => format!("{hours} h"),
            (hours, _) if hours >= 10 => format!("{hours} h"),
            (hours, minutes) => format!("{hours} h {minutes} min"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use labelwood::Settings;
    use labelwood::data::Dataset;
    use labelwood::data::generate::{Generator, Profile};
    use labelwood::model::{Model, TrainOptions};
    use labelwood::run::{Pool, Task};

    const MINUTE: Duration = Duration::from_secs(60);

    fn trees(done: u64, overall: f64) -> Progress {
        let progress = Progress::new(Stage::Units("trees"), done, 30);
        Progress { part: Some("craftml"), overall, ..progress }
    }

    /// The line of some work after so many seconds.
    fn after(work: &Work, seconds: u64, columns: usize) -> String {
        let now = work.start + Duration::from_secs(seconds);
        line(&what(&work.progress), work.clock(None, now), columns)
    }

    #[test]
    fn a_line_shows_what_is_done_and_what_is_to_go_and_fits() {
        let mut work = Work::new(trees(0, 0.2), Instant::now());
        assert_eq!(
            after(&work, 1, 60),
            "craftml: 0 of 30 trees [====>                  ] 20 %, 0:01"
        );
        work.note(trees(12, 0.5), work.start + Duration::from_secs(24));
        let lines = [
            (80, "craftml: 12 of 30 trees [============>           ] 50 %, 0:24, about 40 s to go"),
            (60, "craftml: 12 of 30 trees [=====>    ] 0:24, about 40 s to go"),
            (40, "craftml: 12 of 30 tr…, about 40 s to go"),
            (20, "craftml: 12 of 30 …"),
        ];
        for (columns, expected) in lines {
            assert_eq!(after(&work, 24, columns), expected);
        }
        for columns in 1..120 {
            assert!(width(&after(&work, 24, columns)) < columns.max(2), "{columns}");
        }
    }

    #[test]
    fn late_reports_do_not_move_the_bar_back_and_other_work_starts_it_afresh() {
        let mut work = Work::new(trees(6, 0.6), Instant::now());
        let late = trees(5, 0.5);
        assert!(!work.is_over(&late));
        work.note(late, work.start);
        assert_eq!((work.progress.done, work.overall), (6, 0.6));
        assert!(work.is_over(&Progress::new(Stage::Rows, 1, 9)));
        let next = Progress { overall: 0.601, ..Progress::new(Stage::Units("units"), 1, 9) };
        assert!(!work.is_over(&next));
        // Shares that follow each other differ by rounding.
        assert!(!work.is_over(&Progress { overall: 0.6 - 1e-12, ..next }));
    }

    #[test]
    fn an_estimate_is_shown_late_and_moves_slowly() {
        let mut work = Work::new(trees(0, 0.0), Instant::now());
        let at = |seconds| work.start + Duration::from_secs(seconds);
        let (two, ten, eleven) = (at(2), at(10), at(11));
        work.note(trees(1, 0.1), two);
        assert_eq!(work.clock(None, two).to_go, None);
        work.note(trees(2, 0.2), ten);
        assert_eq!(work.clock(None, ten).to_go, Some(40.0));
        assert_eq!(work.clock(None, eleven).to_go, Some(39.0));
        // A jump says that 100 seconds were too few for what is to go: an eighth of it is believed.
        work.note(trees(3, 0.21), eleven);
        let to_go = work.clock(None, eleven).to_go.unwrap_or_default();
        assert!((39.0..41.0).contains(&to_go), "{to_go}");
    }

    #[test]
    fn work_with_a_limit_is_measured_by_the_time() {
        let start = Instant::now();
        let work = Work::new(trees(29, 0.9), start);
        let now = start + MINUTE / 4;
        let clock = work.clock(Some((start, MINUTE)), now);
        assert_eq!(
            line("trees", clock, 60),
            "trees [=====>              ] 25 %, 0:15, at most 45 s to go"
        );
        let late = work.clock(Some((start, MINUTE)), start + 2 * MINUTE);
        assert_eq!((late.done, late.to_go), (1.0, Some(0.0)));
    }

    #[test]
    fn times_are_as_exact_as_they_are_known() {
        let shown =
            [0.2, 7.4, 9.6, 42.0, 58.0, 95.0, 700.0, 3550.0, 5000.0, 40_000.0].map(rounded_time);
        let expected =
            ["1 s", "7 s", "10 s", "40 s", "1 min", "2 min", "10 min", "1 h", "1 h 20 min", "11 h"];
        assert_eq!(shown, expected);
        assert_eq!(clock_time(Duration::from_secs(3723)), "1:02:03");
    }

    #[test]
    fn what_is_done_is_said_by_what_is_counted() {
        let said = |stage, done, total, part| {
            what(&Progress { part, ..Progress::new(stage, done, total) })
        };
        assert_eq!(said(Stage::Units("trees"), 3, 9, None), "3 of 9 trees");
        assert_eq!(said(Stage::Units("indexes"), 0, 1, Some("neighbours")), "neighbours");
        assert_eq!(said(Stage::Steps("ranker"), 1, 6, None), "ranker: step 2 of 6");
        assert_eq!(said(Stage::Steps("calibration"), 0, 1, None), "calibration");
        assert_eq!(said(Stage::Trials, 9, 9, Some("text")), "text: trial 9 of 9");
        assert_eq!(said(Stage::Writing, 1, 5, None), "writing 1 of 5 rows");
        let endless = Progress { overall: 0.0, ..Progress::new(Stage::Rows, 70, 70) };
        assert_eq!(what(&endless), "70 rows");
    }

    /// Everything that is reported while this is done on one thread.
    fn reports(work: impl FnOnce(&Task)) -> Vec<Progress> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = seen.clone();
        let task = Pool::new(1).expect("one thread").task();
        let task = task.on_progress(move |progress| told.lock().expect("one").push(progress));
        work(&task);
        let seen = seen.lock().expect("one");
        seen.clone()
    }

    #[test]
    fn the_whole_never_falls_and_ends_at_1_for_every_algorithm() {
        let profile = Profile::named("eurlex-4k").expect("it is a profile");
        let profile = Profile { instances: 1000, ..profile };
        let task = Pool::new(1).expect("one thread").task();
        let generator = Generator::new(profile, 1).expect("it is possible");
        for settings in Settings::all().filter(|settings| settings.name() != "names") {
            let settings = settings.resized(&vec![3; settings.size().len()]);
            // A grove decides which parts stay if there are as many.
            let count = if settings.parts().is_empty() { 150 } else { 1000 };
            let (features, labels) = generator.rows(0..count, &task).expect("nobody stops it");
            let dataset = Dataset { features, labels, label_names: None, named: None };
            let calibrate = !settings.facts().is_calibrated;
            let options = TrainOptions { calibrate, ..TrainOptions::default() };
            let reports = reports(|task| {
                Model::train(dataset.view(), options, &settings, task).expect("it is possible");
            });
            let name = settings.name();
            let falls = |pair: &&[Progress]| pair[1].overall < pair[0].overall - 1e-9;
            assert_eq!(reports.windows(2).find(falls), None, "{name}");
            let last = reports.last().expect("something is told");
            assert!((last.overall - 1.0).abs() < 1e-9, "{name}: {last:?}");
            let is_over = reports.iter().fold(None, |work: Option<Work>, &progress| match work {
                Some(mut work) => {
                    assert!(!work.is_over(&progress), "{name}: {progress:?}");
                    work.note(progress, work.start);
                    Some(work)
                }
                None => Some(Work::new(progress, Instant::now())),
            });
            assert!(is_over.is_some());
        }
    }

    #[test]
    fn the_visible_bar_has_a_valid_template() {
        bar(true).finish_and_clear();
    }
}
