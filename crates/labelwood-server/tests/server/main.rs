//! The service as its clients see it: in the same process, and over real sockets.

mod annif;
mod api;
mod harness;
mod hostile;
mod limits;
mod reload;
mod stream;
