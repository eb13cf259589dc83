//! How fast text becomes rows, in MB of text per second of one core.
//!
//! The bar is 40 MB/s for reading the texts of `yso-finna-en-3plus/train.tsv` and weighing their
//! rows; they are taken from the folder that `LABELWOOD_DATA` names. Prints one line per setting:
//! `cargo bench --bench text`.

use labelwood::run::{Pool, Task};
use labelwood::text::{Fitting, Language, Params, Stem, Tokens};
use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

/// The least speed of fitting with the default settings, in MB per second of one core.
const BAR: f64 = 40.0;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let Some(folder) = std::env::var_os("LABELWOOD_DATA") else {
        println!("skipped: LABELWOOD_DATA does not name the folder of the data sets");
        return Ok(());
    };
    let mut file = String::new();
    let path = Path::new(&folder).join("yso-finna-en-3plus/train.tsv.zst");
    zstd::Decoder::new(std::fs::File::open(path)?)?.read_to_string(&mut file)?;
    let texts: Vec<&str> =
        file.lines().map(|line| line.split_once('\t').map_or(line, |(text, _)| text)).collect();
    let task = Pool::new(1)?.task();
    let base = Params::default;
    let settings = [
        ("default", base()),
        ("hashing", Params { hashing: Some(1 << 20), ..base() }),
        ("word n-grams 1,2", Params { word_ngrams: Some((1, 2)), ..base() }),
        ("character n-grams 3,5", Params { char_ngrams: Some((3, 5)), ..base() }),
        ("English stems", Params { stem: Some(Stem::Of(Language::English)), ..base() }),
        ("plain words", Params { tokens: Tokens::Word, ..base() }),
        ("Unicode words", Params { tokens: Tokens::Unicode, ..base() }),
    ];
    let mut default = 0.0;
    for (name, params) in settings {
        let speed = report(name, &params, &texts, &task)?;
        default = if name == "default" { speed } else { default };
    }
    println!("bar: {BAR} MB/s per core; {}", if default >= BAR { "reached" } else { "missed" });
    Ok(())
}

/// The best of some rounds on one thread: fitting, and reading the same texts again.
fn report(name: &str, params: &Params, texts: &[&str], task: &Task) -> Result<f64, Box<dyn Error>> {
    let (mut fit, mut transform) = (Duration::MAX, Duration::MAX);
    let mut terms = 0;
    for _ in 0..ROUNDS {
        let clock = Clock::start();
        let mut fitting = Fitting::new(params.clone())?;
        for batch in texts.chunks(10_000) {
            fitting.add(batch, task)?;
        }
        let (vectoriser, rows) = fitting.finish(task)?;
        fit = fit.min(clock.elapsed());
        let clock = Clock::start();
        let again = vectoriser.transform(texts, task)?;
        transform = transform.min(clock.elapsed());
        assert!(again == rows, "texts are read the same way twice");
        terms = vectoriser.columns();
    }
    let megabytes = texts.iter().map(|text| text.len()).sum::<usize>() as f64 / 1e6;
    let (fit, transform) = (megabytes / fit.as_secs_f64(), megabytes / transform.as_secs_f64());
    println!(
        "{name}: {megabytes:.1} MB, {terms} columns; {fit:.0} MB/s per core to fit, \
         {transform:.0} MB/s to transform"
    );
    Ok(fit)
}

struct Clock(Instant, Option<Duration>);

impl Clock {
    fn start() -> Self {
        Clock(Instant::now(), cpu_time())
    }

    fn elapsed(&self) -> Duration {
        cpu_time().zip(self.1).map_or(self.0.elapsed(), |(after, before)| after - before)
    }
}

/// The time that the threads of this process ran, where the system tells (Linux), so that a busy
/// machine does not spoil the figure; elsewhere wall time stands in.
fn cpu_time() -> Option<Duration> {
    let mut nanoseconds = 0;
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let line = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        nanoseconds += line.split(' ').next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(nanoseconds))
}
