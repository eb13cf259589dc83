//! Our figures against those of napkinXC and scikit-learn, and our npz files against scipy's.
//!
//! `fixtures/reference_metrics.py` made the fixtures and says where conventions differ.

use labelwood::data::predictions::{PredictionFormat, read, write};
use labelwood::metrics::{
    AtK, Evaluation, MetricOptions, Metrics, Propensity, Psndcg, TrainingCounts,
};
use labelwood::sparse::{LabelRows, Predictions, Scored};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    propensity: Constants,
    training: Training,
    truth: Vec<Vec<u32>>,
    predictions: Vec<Vec<(u32, f32)>>,
    napkinxc: NapkinXc,
    definition: Definition,
    scikit_learn: ScikitLearn,
}

#[derive(Deserialize)]
struct Constants {
    a: f64,
    b: f64,
}

#[derive(Deserialize)]
struct Training {
    instances: usize,
    labels: Vec<u32>,
}

#[derive(Deserialize)]
struct NapkinXc {
    inverse_propensity: Vec<f64>,
    p: Vec<f64>,
    recall: Vec<f64>,
    ndcg: Vec<f64>,
    psp: Vec<f64>,
    psndcg_pyxclib: Vec<f64>,
    coverage: Vec<f64>,
}

#[derive(Deserialize)]
struct Definition {
    psndcg_matlab: Vec<f64>,
}

#[derive(Deserialize)]
struct ScikitLearn {
    rows_with_k_predictions: Vec<usize>,
    ndcg: Vec<f64>,
    precision: Vec<f64>,
    recall: Vec<f64>,
    f1: Vec<f64>,
    support: Vec<u64>,
}

impl Reference {
    fn load() -> Self {
        serde_json::from_str(include_str!("fixtures/reference_metrics.json")).unwrap()
    }

    fn truth(&self) -> LabelRows {
        let mut truth = LabelRows::new(self.training.labels.len());
        for row in &self.truth {
            truth.push_row(row, &vec![(); row.len()]).unwrap();
        }
        truth
    }

    fn predictions(&self) -> Predictions {
        let mut predictions = Predictions::default();
        for row in &self.predictions {
            let scored: Vec<Scored> = row.iter().map(|&(id, score)| Scored { id, score }).collect();
            predictions.push_row(&scored);
        }
        predictions
    }

    fn training(&self) -> TrainingCounts<'_> {
        TrainingCounts { instances: self.training.instances, labels: &self.training.labels }
    }

    fn propensity(&self) -> Propensity {
        Propensity { a: self.propensity.a, b: self.propensity.b }
    }

    fn metrics(&self, psndcg: Psndcg) -> Metrics {
        let options =
            MetricOptions { at: (1..=5).collect(), propensity: self.propensity(), psndcg };
        let (truth, predictions) = (self.truth(), self.predictions());
        Evaluation::new(truth.view(), &predictions, self.training(), &options).unwrap().metrics()
    }
}

fn assert_close(what: &str, found: impl IntoIterator<Item = f64>, expected: &[f64]) {
    let found: Vec<f64> = found.into_iter().collect();
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() < 1e-12, "{what} [{at}]: {found} is not {expected}");
    }
}

#[test]
fn figures_agree_with_napkinxc() {
    let reference = Reference::load();
    let metrics = reference.metrics(Psndcg::Pyxclib);
    let column = |figure: fn(&AtK) -> f64| metrics.at.iter().map(figure);
    let expected = &reference.napkinxc;
    assert_close("P", column(|at| at.precision), &expected.p);
    assert_close("recall", column(|at| at.recall), &expected.recall);
    assert_close("nDCG", column(|at| at.ndcg), &expected.ndcg);
    assert_close("PSP", column(|at| at.psp), &expected.psp);
    assert_close("PSnDCG", column(|at| at.psndcg), &expected.psndcg_pyxclib);
    assert_close("coverage", column(|at| at.coverage), &expected.coverage);
    let counts = reference.training.labels.iter().copied();
    let weights = reference.propensity().inverse(reference.training.instances, counts);
    assert_close("inverse propensity", weights, &expected.inverse_propensity);
}

#[test]
fn the_default_psndcg_agrees_with_its_matlab_definition() {
    let reference = Reference::load();
    let metrics = reference.metrics(Psndcg::default());
    let expected = &reference.definition.psndcg_matlab;
    assert_close("PSnDCG", metrics.at.iter().map(|at| at.psndcg), expected);
    assert_ne!(expected[4], reference.napkinxc.psndcg_pyxclib[4]);
}

#[test]
fn figures_agree_with_scikit_learn() {
    let reference = Reference::load();
    let options = MetricOptions { at: (1..=5).collect(), ..MetricOptions::default() };
    let (truth, predictions) = (reference.truth(), reference.predictions());
    let evaluation =
        Evaluation::new(truth.view(), &predictions, reference.training(), &options).unwrap();
    let expected = &reference.scikit_learn;

    let rows: Vec<_> = evaluation.instances().collect();
    let full = &expected.rows_with_k_predictions;
    let ndcg = (0..5)
        .map(|cut| full.iter().map(|&row| rows[row].at[cut].ndcg).sum::<f64>() / full.len() as f64);
    assert_close("nDCG", ndcg, &expected.ndcg);

    let labels = evaluation.labels();
    assert_close("precision", labels.iter().map(|label| label.precision()), &expected.precision);
    assert_close("recall", labels.iter().map(|label| label.recall()), &expected.recall);
    assert_close("F1", labels.iter().map(|label| label.f1()), &expected.f1);
    assert_eq!(labels.iter().map(|label| label.support).collect::<Vec<_>>(), expected.support);
}

#[test]
fn npz_files_of_scipy_are_read() {
    let predictions = Reference::load().predictions();
    let read = |bytes: &[u8]| read(bytes, "npz", PredictionFormat::Npz, 12, |_| None).unwrap();
    assert_eq!(read(include_bytes!("fixtures/scipy_deflated.npz")), predictions);
    let first = read(include_bytes!("fixtures/scipy_stored.npz"));
    assert_eq!(first.len(), 4);
    assert!(first.rows().zip(predictions.rows()).all(|(found, expected)| found == expected));
}

#[test]
fn npz_files_are_written_for_scipy() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("metrics_reference.npz");
    let file = std::fs::File::create(&path).unwrap();
    write(file, &Reference::load().predictions(), PredictionFormat::Npz, 12, |_| None).unwrap();
    println!("check with: python reference_metrics.py {}", path.display());
}
