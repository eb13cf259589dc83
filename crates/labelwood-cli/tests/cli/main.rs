//! End-to-end tests of the built command, as one test binary.
//!
//! [`harness`] runs the command and writes the small corpus; the other modules hold the tests, one
//! file per subcommand or topic.

mod harness;

mod convert;
mod generate;
mod guide;
mod inspect;
mod pages;
#[cfg(unix)]
mod signals;
mod train;
mod usage;
