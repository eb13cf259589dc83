//! Lengths of time as people write them.

use std::time::Duration;

/// The longest that is accepted: a thousand years, which fit every clock.
const LONGEST: Duration = Duration::from_secs(40_000_000_000);

/// A length of time: `90`, `90s`, `5m`, `1.5h`, `1h30m` or `2 hours 5 min`.
pub fn parse(text: &str) -> Result<Duration, String> {
    // A number without a unit means seconds.
    let unit = if text.trim_end().ends_with(|c: char| c.is_ascii_digit()) { "s" } else { "" };
    match humantime::parse_duration(&format!("{}{unit}", text.trim_end())) {
        // The crate takes `5M` for months, which nobody means who writes it here.
        Ok(time) if !time.is_zero() && time < LONGEST && !text.contains('M') => Ok(time),
        _ => {
            Err(format!("`{text}` is not a length of time; write seconds, or such as 5m or 1h30m"))
        }
    }
}

/// A length of time in seconds or minutes.
pub fn shown(time: Duration) -> String {
    match time.as_secs_f64() {
        short if short < 600.0 => format!("{short:.1} s"),
        long => format!("{:.1} min", long / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_units() {
        for (text, seconds) in [
            ("90", 90.0),
            ("90s", 90.0),
            ("5m", 300.0),
            ("1.5h", 5400.0),
            ("1h30m", 5400.0),
            ("1d 2h", 93_600.0),
            ("0.5", 0.5),
            ("1h30", 3630.0),
            ("5 minutes", 300.0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_an_example() {
        for text in ["", "m", "0", "-5", "5x", "5M", "1e3", "nan", "99999999999999d"] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("such as 5m"), "{text}: {error}");
        }
    }

    #[test]
    fn times_are_shown_in_seconds_or_minutes() {
        assert_eq!(shown(Duration::from_secs_f64(59.96)), "60.0 s");
        assert_eq!(shown(Duration::from_secs(5400)), "90.0 min");
    }
}
