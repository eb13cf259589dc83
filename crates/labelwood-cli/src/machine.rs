//! What the machine gives and what this process has used of it.
//!
//! On Linux the figures come from `/proc` and the control groups, so that a container's limit is
//! seen as well as the machine's memory. On other systems some figures are unknown (`None`).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::bytes::Bytes;

/// The most memory this process may use: the machine's, or less if a control group says so.
pub fn memory_limit() -> Option<Bytes> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let read = |file: &Path| fs::read_to_string(file).ok();
    let group = group_limit(&groups, Path::new("/sys/fs/cgroup"), read);
    physical_memory().into_iter().chain(group).min()
}

/// The most memory this process has had resident so far.
pub fn peak_memory() -> Option<Bytes> {
    // Not `ru_maxrss`, which on Linux includes the process image before `exec`.
    match fs::read_to_string("/proc/self/status") {
        Ok(status) => kibibytes(&status, "VmHWM:"),
        Err(_) => peak_memory_elsewhere(),
    }
}

/// Wall and CPU time from a moment on.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Instant,
    cpu: Option<f64>,
}

/// What a [`Clock`] measured.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Seconds on the wall clock.
    pub seconds: f64,
    /// Seconds of CPU, user and system, of all threads.
    pub cpu_seconds: Option<f64>,
}

impl Spent {
    /// No time at all.
    pub const NOTHING: Spent = Spent { seconds: 0.0, cpu_seconds: Some(0.0) };

    /// This and another time.
    pub fn plus(self, other: Spent) -> Spent {
        Spent {
            seconds: self.seconds + other.seconds,
            cpu_seconds: self.cpu_seconds.zip(other.cpu_seconds).map(|(one, two)| one + two),
        }
    }

    /// This time without a part of it.
    pub fn less(self, part: Spent) -> Spent {
        Spent {
            seconds: self.seconds - part.seconds,
            cpu_seconds: self.cpu_seconds.zip(part.cpu_seconds).map(|(all, part)| all - part),
        }
    }
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

    /// What was spent since the start.
    pub fn spent(&self) -> Spent {
        Spent {
            seconds: self.wall.elapsed().as_secs_f64(),
            cpu_seconds: cpu_seconds().zip(self.cpu).map(|(now, start)| now - start),
        }
    }
}

fn physical_memory() -> Option<Bytes> {
    match fs::read_to_string("/proc/meminfo") {
        Ok(info) => kibibytes(&info, "MemTotal:"),
        Err(_) => physical_memory_elsewhere(),
    }
}

/// The figure of a line such as `MemTotal:   16384 kB`.
fn kibibytes(text: &str, key: &str) -> Option<Bytes> {
    let figure = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = figure.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024).map(Bytes)
}

/// The smallest memory limit of the control groups that `groups` (`/proc/self/cgroup`) lists and of
/// those above them. A group outside the container's view has no files here and is passed over.
fn group_limit(
    groups: &str,
    mount: &Path,
    read: impl Fn(&Path) -> Option<String>,
) -> Option<Bytes> {
    let limit = |file: PathBuf| read(&file)?.trim().parse().ok().map(Bytes); // "max" is no limit
    groups.lines().flat_map(|line| limit_files(line, mount)).filter_map(limit).min()
}

/// The files that may hold a limit for one line of `/proc/self/cgroup`: `0::/path` in version 2,
/// `4:memory:/path` in version 1.
fn limit_files(line: &str, mount: &Path) -> Vec<PathBuf> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else {
        return Vec::new();
    };
    let (roots, name) = if controllers.is_empty() {
        (vec![mount.to_owned(), mount.join("unified")], "memory.max")
    } else if controllers.split(',').any(|controller| controller == "memory") {
        (vec![mount.join("memory")], "memory.limit_in_bytes")
    } else {
        return Vec::new();
    };
    let group = Path::new(group.trim_start_matches('/'));
    let files = |root: &PathBuf| -> Vec<PathBuf> {
        group.ancestors().map(|ancestor| root.join(ancestor).join(name)).collect()
    };
    roots.iter().flat_map(files).collect()
}

#[cfg(unix)]
fn usage() -> Option<libc::rusage> {
    // SAFETY: an all-zero `rusage` is a valid value of this plain C struct, which the call fills.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_SELF, &mut usage) == 0).then_some(usage)
    }
}

#[cfg(unix)]
fn cpu_seconds() -> Option<f64> {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    usage().map(|usage| seconds(usage.ru_utime) + seconds(usage.ru_stime))
}

/// Without `/proc`: in bytes on Apple's systems, in KiB on the others.
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
fn cpu_seconds() -> Option<f64> {
    None
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

    /// The limit with these lines in `/proc/self/cgroup` and these files below the mount point.
    fn limit(groups: &str, files: &[(&str, &str)]) -> Option<Bytes> {
        group_limit(groups, Path::new("/cg"), |path| {
            let (_, text) = files.iter().find(|(name, _)| Path::new("/cg").join(name) == path)?;
            Some((*text).to_owned())
        })
    }

    #[test]
    fn the_smallest_limit_on_the_way_up_counts() {
        let files = [
            ("user.slice/job/memory.max", "max\n"),
            ("user.slice/memory.max", "2147483648\n"),
            ("memory.max", "4294967296\n"),
            ("other.slice/memory.max", "1024\n"),
        ];
        assert_eq!(limit("0::/user.slice/job\n", &files), Some(Bytes(2 << 30)));
    }

    #[test]
    fn version_1_and_hybrid_layouts_are_read() {
        let files = [
            ("memory/docker/abc/memory.limit_in_bytes", "536870912\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        let groups = "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n";
        assert_eq!(limit(groups, &files), Some(Bytes(512 << 20)));
        let unified = [("unified/job/memory.max", "1048576\n")];
        assert_eq!(limit("0::/job\n", &unified), Some(Bytes(1 << 20)));
    }

    #[test]
    fn a_path_of_the_host_is_passed_over_and_the_containers_root_counts() {
        let files = [("memory.max", "1048576")];
        assert_eq!(limit("0::/kubepods/pod1/abc", &files), Some(Bytes(1 << 20)));
    }

    #[test]
    fn no_groups_or_no_limits_give_none() {
        assert_eq!(limit("", &[]), None);
        assert_eq!(limit("0::/", &[("memory.max", "max\n")]), None);
        assert_eq!(limit("nonsense", &[("memory.max", "7")]), None);
        assert_eq!(limit("3:cpu:/", &[("cpu/memory.limit_in_bytes", "7")]), None);
    }

    #[test]
    fn figures_of_proc_files_are_read() {
        let status = "Name:\tlabelwood\nVmHWM:\t    2180 kB\nVmRSS:\t 99 kB\n";
        assert_eq!(kibibytes(status, "VmHWM:"), Some(Bytes(2180 * 1024)));
        assert_eq!(
            kibibytes("MemTotal:       24684100 kB\n", "MemTotal:"),
            Some(Bytes(24684100 * 1024))
        );
        assert_eq!(kibibytes("VmHWM: lots", "VmHWM:"), None);
        assert_eq!(kibibytes("", "VmHWM:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_and_process_have_plausible_figures() {
        let limit = memory_limit().expect("Linux tells its memory");
        let peak = peak_memory().expect("Linux tells the peak");
        assert!(Bytes(1 << 20) < peak && peak < limit, "{peak} of {limit}");
        let clock = Clock::start();
        let sum = (0..20_000_000u64).fold(0, |sum, i| std::hint::black_box(sum ^ i));
        std::hint::black_box(sum);
        let spent = clock.spent();
        assert!(spent.seconds > 0.0 && spent.cpu_seconds.expect("Linux tells CPU time") > 0.0);
    }
}
