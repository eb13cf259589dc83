//! The memory of the machine, and what this process has used of it.
//!
//! On Linux the figures come from `/proc` and the control groups, so that a container's limit counts.
//! On other systems some figures are unknown (`None`).

use std::fs;

use labelwood::app::MachineFault;
use labelwood::run::{self, Bytes, Spent};

/// The most memory this process may use: the machine's, or less if a control group says so.
pub fn memory_limit() -> Option<Bytes> {
    run::memory_limit().map(Bytes).or_else(physical_memory_elsewhere)
}

/// Refuses work that needs more memory than `allowed`, else than the machine gives, and says what
/// remedies that; gives the limit, if there is one.
pub fn check_memory(
    work: &str,
    needed: u64,
    allowed: Option<Bytes>,
    remedy: impl FnOnce(u64) -> String,
) -> Result<Option<Bytes>, MachineFault> {
    let limit = allowed.or_else(memory_limit);
    let Some(limit) = limit.filter(|limit| needed > limit.0) else { return Ok(limit) };
    let who = if allowed.is_some() { "--max-memory" } else { "this machine" };
    let (needed, remedy) = (Bytes(needed), remedy(limit.0));
    Err(MachineFault(format!(
        "the {work} needs about {needed} of memory, but {who} allows {limit}: {remedy}"
    )))
}

/// The most memory this process has had resident so far.
pub fn peak_memory() -> Option<Bytes> {
    // Not `ru_maxrss`, which on Linux includes the process image before `exec`.
    match fs::read_to_string("/proc/self/status") {
        Ok(status) => kibibytes(&status, "VmHWM:"),
        Err(_) => peak_memory_elsewhere(),
    }
}

/// The sum of times.
pub fn sum(times: impl IntoIterator<Item = Spent>) -> Spent {
    let nothing = Spent { seconds: 0.0, cpu_seconds: Some(0.0) };
    times.into_iter().fold(nothing, |sum, time| Spent {
        seconds: sum.seconds + time.seconds,
        cpu_seconds: sum.cpu_seconds.zip(time.cpu_seconds).map(|(sum, time)| sum + time),
    })
}

/// The figure of a line such as `VmHWM:   16384 kB`.
fn kibibytes(text: &str, key: &str) -> Option<Bytes> {
    let figure = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = figure.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024).map(Bytes)
}

#[cfg(unix)]
fn usage() -> Option<libc::rusage> {
    // SAFETY: an all-zero `rusage` is a valid value of this plain C struct, which the call fills.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_SELF, &mut usage) == 0).then_some(usage)
    }
}

/// The peak without `/proc`. `ru_maxrss` is in bytes on Apple's systems, in KiB on the others.
#[cfg(unix)]
fn peak_memory_elsewhere() -> Option<Bytes> {
    let scale = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    usage().map(|usage| Bytes(usage.ru_maxrss as u64 * scale))
}

#[cfg(unix)]
fn physical_memory_elsewhere() -> Option<Bytes> {
    // SAFETY: `sysconf` takes any name and returns -1 for one that it does not know.
    let figure = |name| u64::try_from(unsafe { libc::sysconf(name) }).ok();
    figure(libc::_SC_PHYS_PAGES)?.checked_mul(figure(libc::_SC_PAGESIZE)?).map(Bytes)
}

#[cfg(not(unix))]
fn peak_memory_elsewhere() -> Option<Bytes> {
    None
}

#[cfg(not(unix))]
fn physical_memory_elsewhere() -> Option<Bytes> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_proc_files_are_read() {
        let status = "Name:\tlabelwood\nVmHWM:\t    2180 kB\nVmRSS:\t 99 kB\n";
        assert_eq!(kibibytes(status, "VmHWM:"), Some(Bytes(2180 * 1024)));
        assert_eq!(kibibytes("VmHWM: lots", "VmHWM:"), None);
        assert_eq!(kibibytes("", "VmHWM:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_and_process_have_plausible_figures() {
        let limit = memory_limit().expect("Linux tells its memory");
        let peak = peak_memory().expect("Linux tells the peak");
        assert!(Bytes(1 << 20) < peak && peak < limit, "{peak} of {limit}");
    }
}
