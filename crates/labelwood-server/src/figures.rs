//! Figures of the running service, as Prometheus reads them.

use crate::project::Project;
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

/// The bounds of latencies in seconds.
const LATENCIES: [f64; 15] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0];
/// The bounds of rows of a call.
const ROWS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// All figures that are counted as things happen.
#[derive(Debug)]
pub(crate) struct Figures {
    requests: Family<Request, Counter>,
    latency: Family<Route, Histogram, Latencies>,
    rows: Family<OfModel, Counter>,
    reloads: Family<Reload, Counter>,
    batches: Histogram,
    /// Requests that are being answered.
    pub(crate) in_flight: Gauge,
    /// Open connections.
    pub(crate) connections: Gauge,
}

/// Makes a histogram for a route.
#[derive(Clone, Copy, Debug)]
struct Latencies;

impl MetricConstructor<Histogram> for Latencies {
    fn new_metric(&self) -> Histogram {
        Histogram::new(LATENCIES)
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Request {
    method: &'static str,
    route: Arc<str>,
    status: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    route: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfModel {
    model: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reload {
    model: String,
    outcome: &'static str,
}

impl Default for Figures {
    fn default() -> Self {
        Figures {
            requests: Family::default(),
            latency: Family::new_with_constructor(Latencies),
            rows: Family::default(),
            reloads: Family::default(),
            batches: Histogram::new(ROWS),
            in_flight: Gauge::default(),
            connections: Gauge::default(),
        }
    }
}

impl Figures {
    /// Counts an answer.
    pub(crate) fn answered(
        &self,
        method: &'static str,
        route: &Arc<str>,
        status: u16,
        time: Duration,
    ) {
        let request = Request { method, route: route.clone(), status: status.into() };
        self.requests.get_or_create(&request).inc();
        let route = Route { route: route.clone() };
        self.latency.get_or_create(&route).observe(time.as_secs_f64());
    }

    /// Counts predicted rows.
    pub(crate) fn predicted(&self, model: &str, rows: usize) {
        self.rows.get_or_create(&OfModel { model: model.to_owned() }).inc_by(rows as u64);
    }

    /// Counts the rows of a call.
    pub(crate) fn called(&self, rows: usize) {
        self.batches.observe(rows as f64);
    }

    /// Counts an exchange of a model, or that it failed.
    pub(crate) fn reloaded(&self, model: &str, outcome: &'static str) {
        self.reloads.get_or_create(&Reload { model: model.to_owned(), outcome }).inc();
    }

    /// All figures as text.
    pub(crate) fn text(&self, projects: &[Arc<Project>], waiting: usize) -> String {
        let mut all = Registry::with_prefix("labelwood");
        all.register("requests", "Requests answered", self.requests.clone());
        let about = "Time from a request's head to its answer's";
        all.register_with_unit("request_duration", about, Unit::Seconds, self.latency.clone());
        all.register("rows", "Rows predicted", self.rows.clone());
        all.register("batch_rows", "Rows that were predicted by one call", self.batches.clone());
        all.register("reloads", "Models exchanged, or not", self.reloads.clone());
        all.register("requests_in_flight", "Requests being answered", self.in_flight.clone());
        all.register("connections", "Open connections", self.connections.clone());
        gauge(&mut all, "queue_length", "Pieces of work that wait for a thread", waiting as i64);
        for project in projects {
            let opened = project.current();
            let labels = vec![
                ("model", project.name.clone()),
                ("id", opened.id.clone()),
                ("algorithm", opened.model().manifest().training.algorithm.clone()),
            ];
            models(&mut all, &project.name, labels, project.trouble().is_some());
        }
        if let Some(bytes) = resident() {
            let memory = Gauge::<i64>::default();
            memory.set(bytes);
            let about = "Memory of the process that is resident";
            all.register_with_unit("resident_memory", about, Unit::Bytes, memory);
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &all);
        text
    }
}

fn gauge(all: &mut Registry, name: &str, about: &str, value: i64) {
    let gauge = Gauge::<i64>::default();
    gauge.set(value);
    all.register(name, about, gauge);
}

fn models(all: &mut Registry, name: &str, info: Vec<(&'static str, String)>, is_stale: bool) {
    let own = all.sub_registry_with_label(("project".into(), name.to_owned().into()));
    own.register("model", "The model that is served", Info::new(info));
    let about = "1 if there is a newer model that cannot be opened";
    gauge(own, "model_stale", about, is_stale.into());
}

/// The memory of this process that is resident, where the system tells.
fn resident() -> Option<i64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let figure = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = figure.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(1024 * kibibytes)
}
