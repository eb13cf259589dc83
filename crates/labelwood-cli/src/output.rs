//! Results on standard output.

use std::fmt::Display;
use std::path::Path;

use anyhow::Result;
use labelwood::data::write_atomically;

/// Prints a result; an error names standard output.
pub fn print(result: &impl Display) -> Result<()> {
    Ok(write_atomically(Path::new("-"), |output| write!(output, "{result}"))?)
}
