//! `labelwood serve`: how it starts, what it prints, and how it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};

use crate::harness::Folder;
use crate::trained::{named, trained};

/// A server on a port that is free.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(folder: &Folder, args: &str) -> Self {
        let child = folder.start(&format!("serve --port 0 {args}"));
        let mut serving = Serving { child, address: String::new() };
        let stderr = serving.child.stderr.take().expect("it is a pipe");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let line =
            lines.find_map(|line| Some(line.strip_prefix("listening on http://")?.to_owned()));
        serving.address = line.expect("it starts").trim_end_matches('/').to_owned();
        // Whoever reads its messages stays until the end.
        std::thread::spawn(move || lines.for_each(drop));
        serving
    }

    fn send(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.expect("there is a kill command").success());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers with text");
    answer
}

#[cfg(unix)]
#[test]
fn models_are_served_under_their_names_until_a_signal_comes() {
    let folder = named();
    let mut serving = Serving::start(&folder, "model other=model --access-log log.jsonl");
    let address = serving.address.clone();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let models = get(&address, "/api/models");
    assert!(models.starts_with("HTTP/1.1 200 OK\r\n"), "{models}");
    assert!(models.contains("\"name\":\"model\"") && models.contains("\"name\":\"other\""));
    assert!(get(&address, "/").contains("<title>labelwood</title>"));
    serving.send("-HUP");
    assert!(get(&address, "/ready").contains("\"ready\":true"));
    serving.send("-TERM");
    assert_eq!(serving.child.wait().expect("it ends").code(), Some(0));
    let log = folder.read("log.jsonl");
    let paths: Vec<_> = log.lines().filter_map(|line| line.split("\"path\":").nth(1)).collect();
    assert_eq!(paths.len(), 3, "{log}");
    assert!(paths[0].starts_with("\"/api/models\",\"status\":200,"), "{log}");
    assert!(log.contains("\"client\":\"127.0.0.1\""));
}

#[test]
fn what_cannot_be_served_is_refused_with_one_line() {
    let folder = trained();
    assert!(folder.run("serve nothing").fails(1).contains("nothing: there is no model here"));
    assert!(folder.run("serve model model").fails(1).contains("two models are called `model`"));
    assert!(folder.run("serve a/b=model").fails(1).contains("`a/b` cannot be the name of a model"));
    assert!(folder.run("serve model --api-keys keys").fails(1).contains("keys: "));
    folder.write("keys", "short\n");
    assert!(folder.run("serve model --api-keys keys").fails(1).contains("keys:1: a line is a key"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = taken.local_addr().expect("it has an address").port();
    let error = folder.run(&format!("serve model --port {port}")).stderr();
    assert!(error.contains(&format!("could not listen on 127.0.0.1:{port}")), "{error}");
}
