//! Any bytes read as XC data give rows or an error, and the rows survive being written and read.

#![no_main]

use labelwood::data::Format;
use labelwood_fuzz::read_write_read;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| read_write_read(bytes, "fuzz.txt", Format::Xc));
