//! The memory limit of the control groups of this process.

use std::fs;
use std::path::{Path, PathBuf};

/// The memory limit, in bytes, of the control groups of this process, such as a container's. None if they
/// set no limit, or if the system has no control groups.
pub fn group_memory() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let read = |file: &Path| fs::read_to_string(file).ok();
    group_limit(&groups, Path::new("/sys/fs/cgroup"), read)
}

/// The smallest memory limit of the control groups that `groups` (`/proc/self/cgroup`) lists and of
/// those above them. A group that the container does not see has no files here and is skipped.
fn group_limit(groups: &str, mount: &Path, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let limit = |file: PathBuf| read(&file)?.trim().parse().ok(); // "max" is no limit
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit with these lines in `/proc/self/cgroup` and these files below the mount point.
    fn limit(groups: &str, files: &[(&str, &str)]) -> Option<u64> {
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
        assert_eq!(limit("0::/user.slice/job\n", &files), Some(2 << 30));
    }

    #[test]
    fn version_1_and_hybrid_layouts_are_read() {
        let files = [
            ("memory/docker/abc/memory.limit_in_bytes", "536870912\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        let groups = "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n";
        assert_eq!(limit(groups, &files), Some(512 << 20));
        let unified = [("unified/job/memory.max", "1048576\n")];
        assert_eq!(limit("0::/job\n", &unified), Some(1 << 20));
    }

    #[test]
    fn a_path_of_the_host_is_passed_over_and_the_containers_root_counts() {
        let files = [("memory.max", "1048576")];
        assert_eq!(limit("0::/kubepods/pod1/abc", &files), Some(1 << 20));
    }

    #[test]
    fn no_groups_or_no_limits_give_none() {
        assert_eq!(limit("", &[]), None);
        assert_eq!(limit("0::/", &[("memory.max", "max\n")]), None);
        assert_eq!(limit("nonsense", &[("memory.max", "7")]), None);
        assert_eq!(limit("3:cpu:/", &[("cpu/memory.limit_in_bytes", "7")]), None);
    }
}
