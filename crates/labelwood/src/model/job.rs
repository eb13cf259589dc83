//! A training that is to be done, wherever its units go.

use super::{TrainError, TrainOptions, calibrate, check_rows, labels, options, rows, text};
use crate::algorithms::{GrowError, Interrupted, Role, Settings, Train, UnitSink, UnitSpec};
use crate::base::run::{Stopped, Task};
use crate::base::store::{Manifest, StoreError, Training};
use crate::data::DatasetView;

/// A training that is to be done, wherever its units go.
pub(crate) struct TrainJob<'a> {
    dataset: DatasetView<'a>,
    options: TrainOptions<'a>,
    trainer: Box<dyn Train + 'a>,
    /// The settings with every automatic choice made.
    settings: Settings,
}

impl<'a> TrainJob<'a> {
    pub(crate) fn new(
        dataset: DatasetView<'a>,
        options: TrainOptions<'a>,
        settings: &Settings,
        task: &Task,
    ) -> Result<Self, TrainError> {
        Self::prepared(dataset, options, settings, |settings| settings.prepare(dataset, task))
    }

    /// A training within limits.
    pub(crate) fn within_limits(
        dataset: DatasetView<'a>,
        options: TrainOptions<'a>,
        settings: &Settings,
        task: &Task,
    ) -> Result<Self, TrainError> {
        Self::prepared(dataset, options, settings, |settings| {
            settings.prepare_within(dataset, task)
        })
    }

    fn prepared(
        dataset: DatasetView<'a>,
        options: TrainOptions<'a>,
        settings: &Settings,
        prepare: impl FnOnce(&Settings) -> Result<Box<dyn Train + 'a>, Interrupted>,
    ) -> Result<Self, TrainError> {
        if settings.facts().needs_rows {
            check_rows(dataset)?;
        }
        if options.calibrate {
            calibrate::check(settings)?;
        }
        let trainer = prepare(&settings.favour(options.favour));
        let trainer = trainer.map_err(|error| stopped(error, 0, 1, settings.facts().units))?;
        let settings = trainer.settings();
        let options = options.needed_with(&settings);
        Ok(TrainJob { dataset, options, trainer, settings })
    }

    /// What determines the model.
    pub(crate) fn training(&self) -> Training {
        options::describe(self.dataset, self.options, &self.settings)
    }

    /// The settings with every automatic choice made.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What trains the algorithm's own units.
    pub(crate) fn trainer(&self) -> &dyn Train {
        &*self.trainer
    }

    /// Writes the units that are not there yet.
    pub(crate) fn write(&self, units: &UnitSink<'_>, task: &Task) -> Result<(), TrainError> {
        let mut start = 0.0;
        if self.options.holds_out() && units.lacks(calibrate::UNIT) {
            let calibrate = self.options.calibrate;
            start = calibrate::share(&self.settings, calibrate);
            let task = &task.share(0.0..start);
            calibrate::write(self.dataset, &self.settings, calibrate, units, task)
                .map_err(|error| stopped(error, 0, 1, "calibrations"))?;
        }
        self.trainer
            .train(units, &task.share(start..1.0))
            .map_err(|error| self.interrupted(error, units))?;
        self.write_common(units, task)
    }

    /// Writes what every model has whatever the algorithm.
    pub(crate) fn write_common(&self, units: &UnitSink<'_>, task: &Task) -> Result<(), TrainError> {
        labels::write(self.dataset, units)?;
        if let Some(reader) = self.options.text {
            text::write(reader, self.dataset, units, task)?;
        }
        if self.options.keep_rows && units.lacks(&rows::name(0)) {
            rows::write(self.dataset, 0, units)?;
        }
        Ok(())
    }

    /// What the model is, once all units are written.
    pub(crate) fn manifest(
        &self,
        training: Training,
        units: &UnitSink<'_>,
    ) -> Result<Manifest, StoreError> {
        manifest(self.dataset, training, &self.settings, units)
    }

    /// The error of a training that was interrupted: how many units are finished.
    pub(crate) fn interrupted(&self, error: Interrupted, units: &UnitSink<'_>) -> TrainError {
        let labels = self.dataset.labels.columns();
        let specs = self.settings.units(labels, &|name| units.open(name)).unwrap_or_default();
        let is_counted = |unit: &&UnitSpec| !matches!(unit.role, Role::Prepared | Role::Ranker);
        let counted: Vec<&UnitSpec> = specs.iter().filter(is_counted).collect();
        let finished = counted.iter().filter(|unit| units.find(&unit.name).is_some()).count();
        stopped(error, finished, counted.len(), self.settings.facts().units)
    }

    /// The error of a training within a budget.
    pub(crate) fn failed(&self, error: GrowError, units: &UnitSink<'_>) -> TrainError {
        match error {
            GrowError::NoRoom { least, allowed } => TrainError::NoRoom { least, allowed },
            GrowError::Interrupted(error) => self.interrupted(error, units),
            GrowError::TimeUp => match self.interrupted(Stopped::Late.into(), units) {
                TrainError::Stopped { finished, units, .. } => {
                    TrainError::TimeUp { finished, units }
                }
                other => other,
            },
        }
    }
}

fn stopped(error: Interrupted, finished: usize, total: usize, units: &'static str) -> TrainError {
    match error {
        Interrupted::Params(error) => error.into(),
        Interrupted::Store(error) => error.into(),
        Interrupted::Stopped(source) => TrainError::Stopped { finished, total, units, source },
    }
}

/// What a model is whose units are all written.
pub(super) fn manifest(
    dataset: DatasetView<'_>,
    training: Training,
    settings: &Settings,
    units: &UnitSink<'_>,
) -> Result<Manifest, StoreError> {
    let DatasetView { features, labels, .. } = dataset;
    let own = settings.units(labels.columns(), &|name| units.open(name))?;
    // Some models have no weights of features, no calibration, no text or no rows.
    let names: Vec<String> = own.into_iter().map(|unit| unit.name).chain(common_units()).collect();
    Ok(Manifest {
        training,
        instances: features.len() as u64,
        features: features.columns() as u64,
        labels: labels.columns() as u64,
        units: units.listed(names.iter().map(String::as_str)),
    })
}

/// The unit of the calibration.
pub(crate) const CALIBRATION: &str = calibrate::UNIT;

/// The units that every model may have whatever the algorithm, in the manifest's order.
pub(crate) fn common_units() -> impl Iterator<Item = String> {
    let names = [calibrate::UNIT, labels::UNIT, text::TEXT, text::LABEL_TERMS];
    names.map(str::to_owned).into_iter().chain([rows::name(0)])
}

/// Refuses settings as a plan or a manifest may have them.
pub(crate) fn parsed(training: &Training) -> Result<Settings, String> {
    Settings::from_values(&training.algorithm, training.settings.clone())
}
