//! `labelwood serve`: models over HTTP.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{IpAddr, TcpListener};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use labelwood::run::Bytes;
use labelwood::store::{self, Load};
use labelwood_server::{Options, Server};

use crate::args::{at_least_1, choice};
use crate::context::Context;

/// Arguments of `labelwood serve`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A page to try the models is at the address that is printed, what programs may ask is at /api/docs, and \
    Annif's clients find their interface at /v1. A model whose folder is replaced is exchanged while requests go on; \
    SIGHUP does that at once. SIGINT and SIGTERM answer what is in flight, and end. TLS is left to a proxy."
)]
pub struct Args {
    /// The models, folders or files, each with a name before it as in books=DIR; by default the folder's
    #[arg(value_name = "[NAME=]MODEL", required = true)]
    models: Vec<Named>,

    /// The address to listen on; by default only this machine is answered, 0.0.0.0 means everybody
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    host: IpAddr,

    /// The port to listen on; 0 for any that is free
    #[arg(short, long, value_name = "N", default_value_t = 8080)]
    port: u16,

    /// Let clients add rows to models (POST /v1/projects/NAME/learn)
    #[arg(long)]
    allow_learn: bool,

    /// Answer only clients with one of the keys in FILE, one a line, a name and a space before it if the
    /// access log is to name it
    #[arg(long, value_name = "FILE")]
    api_keys: Option<PathBuf>,

    /// Let pages of this web site ask, such as https://example.org, or * for all sites
    #[arg(long, value_name = "ORIGIN")]
    cors: Vec<String>,

    /// The most bytes of a request, such as 2MB
    #[arg(long, value_name = "SIZE", default_value = "2MB", value_parser = size)]
    max_body: usize,

    /// The most texts or vectors of a request
    #[arg(long, value_name = "N", default_value = "1000", value_parser = at_least_1)]
    max_documents: NonZeroUsize,

    /// The most requests that are worked on or wait; further ones are told to come back
    #[arg(long, value_name = "N", default_value = "256", value_parser = at_least_1)]
    max_concurrent: NonZeroUsize,

    /// How long a request may take to arrive, and how long its answer
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = crate::duration::parse)]
    timeout: Duration,

    /// Where to write a line of JSON for each request; - for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    access_log: PathBuf,

    /// Write no access log
    #[arg(long, conflicts_with = "access_log")]
    no_access_log: bool,

    /// Copy the models' files into memory, or map them: for models larger than that. A file that is written
    /// over, not replaced, while it is mapped ends the server
    #[arg(long, value_name = "HOW", default_value = "copy", value_parser = choice(&LOADS))]
    load: Load,
}

const LOADS: [(&str, &str, Load); 2] = [
    ("copy", "Read the files at once", Load::Copy),
    ("map", "Read a part of a file when it is used", Load::Map),
];

/// A model and the name under which it is served.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    folder: PathBuf,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // What has that very name is meant as it stands.
        if let Some((name, folder)) = text.split_once('=').filter(|_| !Path::new(text).exists()) {
            return Ok(Named { name: name.to_owned(), folder: folder.into() });
        }
        let folder = PathBuf::from(text);
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        // The ending of a model that is one file is no part of its name.
        let name = if whole.is_file() { whole.file_stem() } else { whole.file_name() };
        let name = name.map(|name| name.to_string_lossy().into_owned());
        let name = name.ok_or_else(|| format!("the folder has no name: say NAME={text}"))?;
        Ok(Named { name, folder })
    }
}

/// A number of bytes as people write it.
fn size(text: &str) -> Result<usize, String> {
    let bytes = text.parse::<Bytes>().ok().and_then(|size| usize::try_from(size.0).ok());
    let bytes = bytes.filter(|bytes| (1..=1 << 30).contains(bytes));
    bytes.ok_or_else(|| "expected a size such as 2MB, at most 1GiB".to_owned())
}

/// Serves until a signal comes.
pub fn run(args: Args, context: &Context) -> Result<()> {
    let address = (args.host, args.port);
    let options = Options {
        threads: context.threads(),
        load: store::Options { load: args.load, verify: true },
        max_body: args.max_body,
        max_documents: args.max_documents.get(),
        max_concurrent: args.max_concurrent.get(),
        timeout: args.timeout,
        allow_learn: args.allow_learn,
        keys: args.api_keys,
        cors: args.cors,
        ..Options::default()
    };
    let models: Vec<_> = args.models.into_iter().map(|it| (it.name, it.folder)).collect();
    let log = if args.no_access_log { None } else { Some(open_log(&args.access_log)?) };
    let server = Server::open(&models, options, log)?;
    let bound = TcpListener::bind(address).and_then(|it| Ok((it.local_addr()?, it)));
    let (bound, listener) =
        bound.with_context(|| format!("could not listen on {}:{}", address.0, address.1))?;
    for (name, id) in server.models() {
        context.note(format_args!("{name}: model {id}"));
    }
    context.note(format_args!("listening on http://{bound}/"));
    server.run(listener).context("the server ended")?;
    Ok(())
}

/// Where the access log goes.
fn open_log(file: &Path) -> Result<Box<dyn Write + Send>> {
    if file.as_os_str() == "-" {
        return Ok(Box::new(io::stdout()));
    }
    let log = OpenOptions::new().create(true).append(true).open(file);
    Ok(Box::new(log.with_context(|| file.display().to_string())?))
}
