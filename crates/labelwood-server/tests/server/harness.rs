//! Models to serve, and plain ways to ask.

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use labelwood::Settings;
use labelwood::data::{LabelIndex, Vocabulary, corpus};
use labelwood::model::{Model, TrainOptions};
use labelwood::run::{Pool, Task};
use labelwood::sparse::LabelRows;
use labelwood::text::{Params, learn};
use labelwood_server::{Options, Server};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;
use tower::ServiceExt;

/// Work on one thread.
pub fn task() -> Task {
    Pool::new(1).unwrap().task()
}

/// A model of texts, each with the numbers of its labels.
fn trained(algorithm: &str, texts: &[&str], ids: &[Vec<u32>], names: LabelIndex) -> Model {
    let starts = ids.iter().scan(0, |end, ids| {
        *end += ids.len() as u64;
        Some(*end)
    });
    let starts = std::iter::once(0).chain(starts).collect();
    let all: Vec<u32> = ids.iter().flatten().copied().collect();
    let none = vec![(); all.len()];
    let labels = LabelRows::try_new(names.len(), starts, all, none).unwrap();
    let (options, params, task) = (Default::default(), Params::default(), task());
    let (reader, rows) = learn(texts, labels, names, options, params, &task).unwrap();
    let settings = Settings::named(algorithm).unwrap();
    let options = TrainOptions { text: Some(&reader), keep_rows: true, ..TrainOptions::default() };
    Model::train(rows.view(), options, &settings, &task).unwrap()
}

/// A model of the questions to a library, of which every `step`-th is learned.
pub fn questions(algorithm: &str, step: usize) -> Model {
    let questions: Vec<_> = corpus::train().step_by(step).collect();
    let mut names: Vec<&str> = questions.iter().flat_map(|(_, tags)| tags.clone()).collect();
    names.sort_unstable();
    names.dedup();
    let texts: Vec<&str> = questions.iter().map(|(text, _)| *text).collect();
    let id = |tag: &&str| names.binary_search(tag).unwrap() as u32;
    let ids = questions.iter().map(|(_, tags)| {
        let mut ids: Vec<u32> = tags.iter().map(id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    });
    let ids: Vec<_> = ids.collect();
    trained(algorithm, &texts, &ids, LabelIndex::from_lines(names.iter().copied()))
}

/// A model whose labels are of a vocabulary: animals, and below them birds and cats, in two languages.
pub fn birds() -> Model {
    let vocabulary = "
        @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
        <http://x/animals> skos:prefLabel \"animals\"@en, \"eläimet\"@fi .
        <http://x/birds> skos:prefLabel \"birds\"@en, \"linnut\"@fi ; skos:altLabel \"fowl\"@en ;
            skos:broader <http://x/animals> .
        <http://x/cats> skos:prefLabel \"cats\"@en ; skos:broader <http://x/animals> .
        <http://x/maps> skos:prefLabel \"maps\"@en, \"kartat\"@fi .";
    let names = Vocabulary::from_bytes(vocabulary.as_bytes(), "x.ttl", Some("en")).unwrap().labels;
    let id = |code: &str| names.find(code).unwrap();
    let (birds, cats, maps) = (id("http://x/birds"), id("http://x/cats"), id("http://x/maps"));
    let texts = [
        "owls and herons",
        "owls and finches",
        "a sleeping cat",
        "the cat of a house",
        "an old atlas",
        "the old atlas",
    ];
    let ids = [birds, birds, cats, cats, maps, maps].map(|id| vec![id]);
    trained("craftml", &texts, &ids, names)
}

/// A model of vectors without names.
pub fn vectors() -> Model {
    let bytes = b"4 2 2\n0 0:1\n0 0:1\n1 1:1\n1 1:1\n";
    let rows = labelwood::data::read_bytes(bytes, "a.txt", &Default::default(), &task()).unwrap();
    let settings = Settings::named("one-vs-rest").unwrap();
    Model::train(rows.dataset.view(), Default::default(), &settings, &task()).unwrap()
}

pub fn options() -> Options {
    Options { threads: 2, ..Options::default() }
}

/// A server of these models.
pub fn serve(models: Vec<(&str, Model)>, options: Options) -> Server {
    let models = models.into_iter().map(|(name, model)| (name.to_owned(), model)).collect();
    Server::of_models(models, options).unwrap()
}

/// A score as it stands in JSON.
pub fn shown(score: f32) -> Value {
    serde_json::from_str(&score.to_string()).unwrap()
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Checks that it is a problem document of this status; gives what it says.
    pub fn problem(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], "about:blank");
        assert!(problem["title"].is_string());
        problem["detail"].as_str().unwrap().to_owned()
    }

    /// Checks that it is a success.
    pub fn fine(self) -> Self {
        assert!(self.status.is_success(), "{}: {}", self.status, self.text());
        self
    }
}

/// Asks within the process.
pub async fn ask(server: &Server, request: Request<Body>) -> Answer {
    let response = server.router().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes().to_vec();
    Answer { status: parts.status, headers: parts.headers, bytes }
}

pub async fn get(server: &Server, path: &str) -> Answer {
    ask(server, Request::get(path).body(Body::empty()).unwrap()).await
}

pub async fn post(server: &Server, path: &str, kind: &str, body: impl Into<Body>) -> Answer {
    let request = Request::post(path).header("content-type", kind).body(body.into()).unwrap();
    ask(server, request).await
}

pub async fn post_json(server: &Server, path: &str, body: Value) -> Answer {
    post(server, path, "application/json", body.to_string()).await
}

pub async fn post_form(server: &Server, path: &str, body: &str) -> Answer {
    post(server, path, "application/x-www-form-urlencoded", body.to_owned()).await
}

/// A server that listens, until it is dropped or told to stop.
pub struct Listening {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    pub fn start(server: &Server) -> Self {
        let server = server.clone();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                listener.set_nonblocking(true).unwrap();
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let stop = async {
                    let _ = stopped.await;
                };
                server.serve(listener, stop).await.unwrap();
            });
        });
        Listening { address, stop: Some(stop), thread: Some(thread) }
    }

    /// Asks the server to stop; it drains in the background.
    pub fn ask_to_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until the server has ended.
    pub fn wait(mut self) {
        self.ask_to_stop();
        self.thread.take().unwrap().join().unwrap();
    }

    pub fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
        Connection { stream, rest: Vec::new() }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.ask_to_stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A connection that is kept open.
pub struct Connection {
    pub stream: TcpStream,
    rest: Vec<u8>,
}

impl Connection {
    pub fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    pub fn post(&mut self, path: &str, kind: &str, body: &[u8]) -> Option<Answer> {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        self.send(&[head.as_bytes(), body].concat()).ok()?;
        self.answer()
    }

    pub fn get(&mut self, path: &str) -> Option<Answer> {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).ok()?;
        self.answer()
    }

    /// The next answer; nothing if the connection ends before it is whole.
    pub fn answer(&mut self) -> Option<Answer> {
        let end = loop {
            match self.rest.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(at) => break at,
                None => self.read()?,
            }
        };
        let head = String::from_utf8(self.rest.drain(..end + 4).collect()).ok()?;
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let mut headers = HeaderMap::new();
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':')?;
            headers
                .append(name.parse::<axum::http::HeaderName>().ok()?, value.trim().parse().ok()?);
        }
        let bytes = match headers.get("content-length") {
            Some(length) => {
                let length: usize = length.to_str().ok()?.parse().ok()?;
                while self.rest.len() < length {
                    self.read()?;
                }
                self.rest.drain(..length).collect()
            }
            None if headers.contains_key("transfer-encoding") => self.chunks()?,
            None => Vec::new(),
        };
        Some(Answer { status: StatusCode::from_u16(status).ok()?, headers, bytes })
    }

    fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let at = loop {
                match self.rest.windows(2).position(|two| two == b"\r\n") {
                    Some(at) => break at,
                    None => self.read()?,
                }
            };
            let size = String::from_utf8(self.rest.drain(..at + 2).collect()).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            while self.rest.len() < size + 2 {
                self.read()?;
            }
            all.extend(self.rest.drain(..size));
            self.rest.drain(..2);
            if size == 0 {
                return Some(all);
            }
        }
    }

    fn read(&mut self) -> Option<()> {
        let mut bytes = [0; 16 << 10];
        match self.stream.read(&mut bytes) {
            Ok(0) | Err(_) => None,
            Ok(count) => {
                self.rest.extend_from_slice(&bytes[..count]);
                Some(())
            }
        }
    }
}
