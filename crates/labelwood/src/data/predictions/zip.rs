//! As much of the zip container as npz files use: stored or deflated members below 4 GiB.

use super::npz::Fault;
use crate::data::source::is_of_system;
use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::io::{self, Read, Write};

const END_SIGNATURE: u32 = 0x0605_4b50;
const CENTRAL_SIGNATURE: u32 = 0x0201_4b50;
const LOCAL_SIGNATURE: u32 = 0x0403_4b50;
const END_LEN: usize = 22;
/// The comment after the end record is at most this long.
const LONGEST_COMMENT: usize = u16::MAX as usize;
/// 1 January 1980, the first day that a zip file knows: the bytes must not depend on the clock.
const NO_DATE: u32 = 0x0021_0000;

/// The bytes of the named member; `None` if there is no such member.
pub(super) fn member(archive: &[u8], wanted: &str) -> Result<Option<Vec<u8>>, Fault> {
    let end = find_end(archive).ok_or("not a zip file, as npz files are, or cut short")?;
    let (entries, mut at) = (number(archive, end + 10, 2)?, number(archive, end + 16, 4)?);
    for _ in 0..entries {
        if number(archive, at, 4)? != CENTRAL_SIGNATURE as usize {
            return Err("the zip directory is damaged".into());
        }
        let name_len = number(archive, at + 28, 2)?;
        if slice(archive, at + 46, name_len)? == wanted.as_bytes() {
            return read_member(archive, at, wanted).map(Some);
        }
        at += 46 + name_len + number(archive, at + 30, 2)? + number(archive, at + 32, 2)?;
    }
    Ok(None)
}

/// How many bytes all members have, as the directory says; what is unpacked has no more.
pub(super) fn unpacked(archive: &[u8]) -> usize {
    let sizes = |archive: &[u8]| -> Result<usize, String> {
        let end = find_end(archive).ok_or("no end")?;
        let (entries, mut at) = (number(archive, end + 10, 2)?, number(archive, end + 16, 4)?);
        let mut sum = 0usize;
        for _ in 0..entries {
            sum = sum.saturating_add(number(archive, at + 24, 4)?);
            let lengths = [28, 30, 32].map(|field| number(archive, at + field, 2));
            at += 46 + lengths.into_iter().sum::<Result<usize, _>>()?;
        }
        Ok(sum)
    };
    sizes(archive).unwrap_or(0)
}

fn find_end(archive: &[u8]) -> Option<usize> {
    let last = archive.len().checked_sub(END_LEN)?;
    let first = last.saturating_sub(LONGEST_COMMENT);
    (first..=last).rev().find(|&at| archive[at..].starts_with(&END_SIGNATURE.to_le_bytes()))
}

/// Reads the member that the directory entry at `entry` describes.
fn read_member(archive: &[u8], entry: usize, name: &str) -> Result<Vec<u8>, Fault> {
    let method = number(archive, entry + 10, 2)?;
    let checksum = number(archive, entry + 16, 4)? as u32;
    let (packed_len, len) = (number(archive, entry + 20, 4)?, number(archive, entry + 24, 4)?);
    let local = number(archive, entry + 42, 4)?;
    if [packed_len, len, local].contains(&(u32::MAX as usize)) {
        return Err(format!("{name} has 4 GiB or more (zip64): split the predictions").into());
    }
    if number(archive, local, 4)? != LOCAL_SIGNATURE as usize {
        return Err(format!("{name} is not where the zip directory says").into());
    }
    let names = number(archive, local + 26, 2)? + number(archive, local + 28, 2)?;
    let packed = slice(archive, local + 30 + names, packed_len)?;
    let mut bytes = Vec::new();
    match method {
        0 => bytes.extend_from_slice(packed),
        8 => {
            // One byte more than promised is enough to see that the promise is broken.
            let mut inflated = DeflateDecoder::new(packed).take(len as u64 + 1);
            inflated.read_to_end(&mut bytes).map_err(|error| match is_of_system(&error) {
                true => Fault::System(error),
                false => Fault::Content(format!("{name}: {error}")),
            })?;
        }
        _ => {
            let problem = format!("{name} is compressed by method {method}: save it with scipy");
            return Err(problem.into());
        }
    }
    let mut crc = Crc::new();
    crc.update(&bytes);
    if bytes.len() != len || crc.sum() != checksum {
        return Err(format!("{name} is damaged: its length or checksum is wrong").into());
    }
    Ok(bytes)
}

fn slice(bytes: &[u8], at: usize, len: usize) -> Result<&[u8], String> {
    let end = at.checked_add(len);
    end.and_then(|end| bytes.get(at..end)).ok_or_else(|| "the zip file is cut short".to_owned())
}

/// A little-endian number of `len` bytes, at most 4.
fn number(bytes: &[u8], at: usize, len: usize) -> Result<usize, String> {
    let bytes = slice(bytes, at, len)?;
    Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
}

/// Writes the members, stored.
pub(super) fn write(out: &mut impl Write, members: &[(&str, Vec<u8>)]) -> io::Result<()> {
    let too_large = || {
        let problem =
            "an npz file of 4 GiB or more: write fewer rows, fewer labels, or another format";
        io::Error::new(io::ErrorKind::InvalidInput, problem)
    };
    let mut directory = Vec::new();
    let mut offset: u32 = 0;
    for (name, bytes) in members {
        let len = u32::try_from(bytes.len()).map_err(|_| too_large())?;
        let mut crc = Crc::new();
        crc.update(bytes);
        let shared = [
            [20u16, 0, 0].map(u16::to_le_bytes).as_flattened(), // version needed, flags, stored
            [NO_DATE, crc.sum(), len, len].map(u32::to_le_bytes).as_flattened(),
            [name.len() as u16, 0].map(u16::to_le_bytes).as_flattened(), // no extra fields
        ]
        .concat();
        let local = [&LOCAL_SIGNATURE.to_le_bytes(), &shared[..], name.as_bytes()].concat();
        out.write_all(&local)?;
        out.write_all(bytes)?;

        directory.extend_from_slice(&CENTRAL_SIGNATURE.to_le_bytes());
        directory.extend_from_slice(&20u16.to_le_bytes()); // version made by
        directory.extend_from_slice(&shared);
        directory.extend_from_slice(&[0; 10]); // comment, disk and attributes
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
        let next = u64::from(offset) + local.len() as u64 + u64::from(len);
        offset = u32::try_from(next).map_err(|_| too_large())?;
    }
    let count = members.len() as u16;
    out.write_all(&directory)?;
    out.write_all(&END_SIGNATURE.to_le_bytes())?;
    out.write_all([0, 0, count, count].map(u16::to_le_bytes).as_flattened())?;
    out.write_all([directory.len() as u32, offset].map(u32::to_le_bytes).as_flattened())?;
    out.write_all(&[0; 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_tells_how_much_is_unpacked() {
        let mut archive = Vec::new();
        write(&mut archive, &[("a", vec![0; 5]), ("bcd", vec![0; 70])]).unwrap();
        assert_eq!(unpacked(&archive), 75);
        assert_eq!(unpacked(&archive[..40]), 0);
    }
}
