//! Input that is used as it arrives.
//!
//! A thread reads ahead, so that whoever takes the bytes gets at once all that has arrived: one line of a
//! program that waits for the answer, or megabytes of a file that comes through a pipe.

use std::io::{self, Cursor, Read};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

/// How much is read at a time: what a pipe holds on Linux.
const CHUNK: usize = 64 << 10;

/// Bytes that a thread reads ahead.
pub(super) struct Arriving {
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// What was taken out of the channel and not read yet.
    rest: Cursor<Vec<u8>>,
    /// The error behind the rest.
    failed: Option<io::Error>,
}

impl Arriving {
    /// Starts to read, at most about `ahead` bytes more than were asked for.
    pub(super) fn new(input: impl Read + Send + 'static, ahead: usize) -> io::Result<Self> {
        let (sender, chunks) = sync_channel((ahead / CHUNK).max(1));
        thread::Builder::new().name("input".to_owned()).spawn(move || read_all(input, &sender))?;
        Ok(Arriving { chunks, rest: Cursor::default(), failed: None })
    }

    /// Whether more can be read without waiting.
    pub(super) fn has_more(&mut self) -> bool {
        if self.is_used_up() {
            match self.chunks.try_recv() {
                Ok(chunk) => self.take(chunk),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
            }
        }
        !self.is_used_up()
    }

    fn is_used_up(&self) -> bool {
        self.rest.position() == self.rest.get_ref().len() as u64
    }

    fn take(&mut self, chunk: io::Result<Vec<u8>>) {
        match chunk {
            Ok(chunk) => self.rest = Cursor::new(chunk),
            Err(error) => self.failed = Some(error),
        }
    }
}

impl Read for Arriving {
    /// Waits until there is something.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_used_up() && self.failed.is_none() {
            match self.chunks.recv() {
                Ok(chunk) => self.take(chunk),
                // The thread has read all.
                Err(_) => return Ok(0),
            }
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.rest.read(buffer),
        }
    }
}

/// Sends everything that can be read; ends early when nobody wants it any more.
fn read_all(mut input: impl Read, sender: &SyncSender<io::Result<Vec<u8>>>) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let chunk = match input.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => Ok(buffer[..count].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = chunk.is_err();
        if sender.send(chunk).is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Gives what is sent to it, one message a call.
    struct Sent(mpsc::Receiver<io::Result<&'static [u8]>>);

    impl Read for Sent {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Ok(bytes) = self.0.recv() else { return Ok(0) };
            let bytes = bytes?;
            buffer[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        }
    }

    #[test]
    fn what_has_arrived_is_there_at_once_and_an_error_comes_behind_it() {
        let (sender, sent) = mpsc::channel();
        let mut arriving = Arriving::new(Sent(sent), CHUNK).unwrap();
        assert!(!arriving.has_more());
        let mut buffer = [0; 9];
        sender.send(Ok(b"one".as_slice())).unwrap();
        assert_eq!(arriving.read(&mut buffer[..2]).unwrap(), 2);
        assert!(arriving.has_more());
        assert_eq!(arriving.read(&mut buffer[2..]).unwrap(), 1);
        assert_eq!(&buffer[..3], b"one");
        assert!(!arriving.has_more());
        sender.send(Err(io::ErrorKind::TimedOut.into())).unwrap();
        assert_eq!(arriving.read(&mut buffer).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(arriving.read(&mut buffer).unwrap(), 0);
    }

    #[test]
    fn all_bytes_come_in_order() {
        let bytes: Vec<u8> = (0..1_000_000u32).map(|at| (at % 251) as u8).collect();
        let mut arriving = Arriving::new(Cursor::new(bytes.clone()), 1 << 20).unwrap();
        let mut read = Vec::new();
        arriving.read_to_end(&mut read).unwrap();
        assert!(read == bytes);
    }
}
