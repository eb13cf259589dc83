//! Writes the library's messages to stderr, one line each, without disturbing the progress bar.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use indicatif::ProgressBar;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::args::Common;
use crate::terminal::has_colours;

/// Sends messages to stderr: warnings by default, more with `-v`, none with `--quiet`.
pub fn start(common: &Common, bar: &ProgressBar) {
    let bar = bar.clone();
    tracing_subscriber::fmt()
        .with_max_level(level(common.quiet, common.verbose))
        .with_ansi(has_colours(io::stderr().is_terminal()))
        .with_writer(move || BesideBar(bar.clone()))
        .event_format(Line)
        .init();
}

fn level(quiet: bool, verbose: u8) -> LevelFilter {
    match (quiet, verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) => LevelFilter::WARN,
        (false, 1) => LevelFilter::INFO,
        (false, _) => LevelFilter::DEBUG,
    }
}

/// `warning: text`, as errors are `error: text`; information has no prefix.
struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        writer.write_str(match *event.metadata().level() {
            Level::ERROR => "error: ",
            Level::WARN => "warning: ",
            _ => "",
        })?;
        context.field_format().format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// Writes to stderr and hides the progress bar meanwhile. It never fails: work goes on without messages,
/// and the subscriber would report a failure on stderr again, which panics.
struct BesideBar(ProgressBar);

impl Write for BesideBar {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.suspend(|| io::stderr().write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_shows_errors_and_each_v_shows_more() {
        assert_eq!(level(true, 0), LevelFilter::ERROR);
        assert_eq!(level(false, 0), LevelFilter::WARN);
        assert_eq!(level(false, 1), LevelFilter::INFO);
        assert_eq!(level(false, 5), LevelFilter::DEBUG);
    }
}
