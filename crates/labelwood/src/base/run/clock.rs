//! How long work takes.

use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Wall and CPU time from a moment on.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Instant,
    cpu: Option<f64>,
}

/// The time that some work took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// By the clock.
    pub seconds: f64,
    /// Of all threads of the process together, where the system tells it.
    pub cpu_seconds: Option<f64>,
}

impl Clock {
    /// Starts now.
    pub fn start() -> Self {
        Clock { wall: Instant::now(), cpu: cpu_seconds() }
    }

    /// The start.
    pub fn started(&self) -> Instant {
        self.wall
    }

    /// The time since the start.
    pub fn spent(&self) -> Spent {
        Clock::start().since(self)
    }

    /// The time from the start of another clock to that of this one.
    pub fn since(&self, earlier: &Clock) -> Spent {
        Spent {
            seconds: (self.wall - earlier.wall).as_secs_f64(),
            cpu_seconds: self.cpu.zip(earlier.cpu).map(|(now, before)| now - before),
        }
    }
}

#[cfg(unix)]
fn cpu_seconds() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

#[cfg(not(unix))]
fn cpu_seconds() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn work_takes_time_by_both_clocks() {
        let clock = Clock::start();
        let sum = (0..20_000_000u64).fold(0, |sum, i| std::hint::black_box(sum ^ i));
        std::hint::black_box(sum);
        let spent = clock.spent();
        assert!(spent.seconds > 0.0 && spent.cpu_seconds.expect("Unix tells CPU time") > 0.0);
    }
}
