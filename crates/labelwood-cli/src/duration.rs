//! Lengths of time as people write them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The units, longest first, with their seconds.
const UNITS: [(char, f64); 4] = [('d', 86_400.0), ('h', 3600.0), ('m', 60.0), ('s', 1.0)];

/// A length of time: `90`, `90s`, `5m`, `1.5h` or `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds(pub f64);

impl Seconds {
    /// A share of it.
    pub fn times(self, share: f64) -> Duration {
        Duration::try_from_secs_f64(self.0 * share).unwrap_or(Duration::ZERO)
    }
}

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a length of time; write seconds, or such as 5m or 1h30m");
        let (mut rest, mut seconds) = (text.trim(), 0.0);
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
            let (number, unit) = rest.split_at(digits.unwrap_or(rest.len()));
            let number: f64 = number.parse().map_err(|_| wrong())?;
            let mut unit = unit.chars();
            let each = match unit.next() {
                None => 1.0,
                Some(name) => UNITS.iter().find(|unit| unit.0 == name).ok_or_else(wrong)?.1,
            };
            seconds += number * each;
            rest = unit.as_str().trim_start();
        }
        // A thousand years are enough, and fit every clock.
        if seconds > 0.0 && seconds < 4e10 { Ok(Seconds(seconds)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            short if short < 600.0 => write!(out, "{short:.1} s"),
            long => write!(out, "{:.1} min", long / 60.0),
        }
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
        ] {
            assert_eq!(text.parse(), Ok(Seconds(seconds)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_an_example() {
        for text in ["", "m", "0", "-5", "5x", "5 minutes", "1e3", "nan", "99999999999999d"] {
            let error = text.parse::<Seconds>().unwrap_err();
            assert!(error.contains("such as 5m"), "{text}: {error}");
        }
    }

    #[test]
    fn times_are_shown_in_seconds_or_minutes() {
        assert_eq!(Seconds(59.96).to_string(), "60.0 s");
        assert_eq!(Seconds(5400.0).to_string(), "90.0 min");
    }
}
