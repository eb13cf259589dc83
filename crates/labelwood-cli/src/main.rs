//! The labelwood command.
fn main() {}
