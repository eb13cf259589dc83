//! Memory on large pages.
//!
//! The system hands out memory in pages of 4 KB and takes some microseconds to do so, for each page
//! and in each process again: that was a tenth of the time of a shard with three trees of a forest.
//! Asked to, Linux gives pages of 2 MB instead. So glibc is told to get memory in large steps, and
//! Linux that large pages are welcome wherever something of some size lies.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with advice to the system on what it gave.
pub struct Heap;

/// What is smaller lies beside what is not.
const SOME_SIZE: usize = 64 << 10;
/// From here on an allocation has a mapping of its own, which goes when it is freed.
const LARGE: usize = 4 << 20;
/// glibc keeps what the threads allocate in regions of this size, each starting at a multiple.
const REGION: usize = 64 << 20;
/// Of a region, what is made usable at once: a page of 2 MB must be usable as a whole.
const STEP: usize = 60 << 20;
/// Free memory at the end of a region is given back from here on.
const KEPT: usize = 32 << 20;
thread_local! {
    /// The region that this thread gave advice on last.
    static LAST: Cell<usize> = const { Cell::new(0) };
}

/// Tells glibc how to get memory; for the start of the program.
pub fn set_up() {
    let settings =
        [(libc::M_MMAP_THRESHOLD, LARGE), (libc::M_TRIM_THRESHOLD, KEPT), (libc::M_TOP_PAD, STEP)];
    for (setting, value) in settings {
        // SAFETY: it only sets a number, before there are other threads. A setting that is refused
        // is left as it was.
        unsafe { libc::mallopt(setting, value as libc::c_int) };
    }
}

/// Asks for large pages where an allocation lies.
fn advise(start: *mut u8, size: usize) {
    if size < SOME_SIZE || start.is_null() {
        return;
    }
    let (start, end) = (start.addr(), start.addr() + size);
    let (first, end) = if size >= LARGE {
        // All of its mapping, which starts some bytes before it: a mapping of which only a part is
        // advised counts as several, and those are copied, not moved, when the allocation grows.
        let page = page();
        (start / page * page, end.next_multiple_of(page))
    } else {
        (start / REGION * REGION, end.next_multiple_of(REGION))
    };
    if size < LARGE && LAST.replace(first) == first {
        return;
    }
    // SAFETY: this advice changes no content, whatever lies there, and may be refused.
    unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
}

/// The size of small pages.
fn page() -> usize {
    // SAFETY: `sysconf` takes any name and returns -1 for one that it does not know.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

// SAFETY: all is left to the system's allocator; its answers are passed on as they are.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises that the system's allocator asks for.
        let start = unsafe { System.alloc(layout) };
        advise(start, layout.size());
        start
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let start = unsafe { System.alloc_zeroed(layout) };
        advise(start, layout.size());
        start
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let start = unsafe { System.realloc(start, layout, size) };
        advise(start, size);
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) };
    }
}
