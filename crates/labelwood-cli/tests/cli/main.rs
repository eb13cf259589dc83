//! End-to-end tests of the built command, as one test binary.
//!
//! [`harness`] runs the command and writes the small corpus; the other modules hold the tests, one
//! file per subcommand or topic.

mod harness;
mod trained;

mod compare;
mod convert;
mod demo;
mod endless;
mod evaluate;
mod explain;
mod faults;
mod generate;
mod grove;
mod guide;
mod inspect;
#[cfg(unix)]
mod kills;
mod limits;
mod linear;
mod live;
mod messages;
mod one_file;
mod outputs;
mod pages;
mod predict;
mod report;
mod scripts;
mod serve;
mod shards;
mod sheets;
#[cfg(unix)]
mod signals;
mod split;
mod text;
mod text_files;
mod train;
mod tune;
mod unlikely;
mod update;
mod usage;
mod vocabulary;
