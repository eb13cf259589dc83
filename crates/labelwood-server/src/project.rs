//! A served model under its name, and the exchange for a newer one.
//!
//! A project hands out the model of the moment. Who has one goes on with it, whatever takes its place
//! meanwhile. A folder whose manifest changed is opened again; if that fails, the old model stays and the
//! folder is tried again, at growing intervals.

use labelwood::data::LabelIndex;
use labelwood::model::Model;
use labelwood::run::Task;
use labelwood::store::{Options, StoreError, manifest_file};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

/// How long to wait after a failure before the folder is tried again, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// In so many languages the labels are kept at once.
const LANGUAGES: usize = 64;

/// A name under which a model is served.
#[derive(Debug)]
pub(crate) struct Project {
    /// The name.
    pub name: String,
    folder: Option<PathBuf>,
    current: RwLock<Arc<Opened>>,
    /// Held while a model is opened.
    exchange: Mutex<Exchange>,
    changing: Mutex<()>,
    trouble: Mutex<Option<SystemTime>>,
}

/// A model that was opened, with what is made of it when it is first asked for.
#[derive(Debug)]
pub(crate) struct Opened {
    model: Model,
    /// The digest that tells the model from others.
    pub id: String,
    /// When the model was written, as far as that is known.
    pub modified: SystemTime,
    languages: Mutex<BTreeMap<String, Arc<LabelIndex>>>,
    narrower: OnceLock<Vec<(u32, u32)>>,
    searched: OnceLock<Vec<String>>,
}

/// What is known of the last attempt to exchange the model.
#[derive(Debug)]
struct Exchange {
    seen: Option<Stamp>,
    failed: Option<Failed>,
}

#[derive(Debug)]
struct Failed {
    pause: Duration,
    again: Instant,
}

/// What changes with a manifest.
#[derive(Clone, Debug, PartialEq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    file: (u64, u64),
}

/// What became of a look at the folder.
#[derive(Debug)]
pub(crate) enum Looked {
    /// Nothing new is there.
    Same,
    /// The model was exchanged.
    Exchanged,
    /// What is there cannot be opened; the old model stays.
    Refused(StoreError),
}

impl Project {
    /// Opens the model in a folder.
    pub(crate) fn open(
        name: &str,
        folder: &Path,
        options: Options,
        task: &Task,
    ) -> Result<Self, StoreError> {
        let seen = Stamp::of(folder);
        let opened = Opened::open(folder, options, task)?;
        Ok(Self::new(name, Some(folder.to_owned()), opened, seen))
    }

    /// Serves a model that is in memory.
    pub(crate) fn in_memory(name: &str, model: Model) -> Self {
        Self::new(name, None, Opened::new(model, SystemTime::now()), None)
    }

    fn new(name: &str, folder: Option<PathBuf>, opened: Opened, seen: Option<Stamp>) -> Self {
        Project {
            name: name.to_owned(),
            folder,
            current: RwLock::new(Arc::new(opened)),
            exchange: Mutex::new(Exchange { seen, failed: None }),
            changing: Mutex::default(),
            trouble: Mutex::new(None),
        }
    }

    /// The model of this moment.
    pub(crate) fn current(&self) -> Arc<Opened> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The model's folder, unless it is in memory.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Held while the model in the folder is updated.
    pub(crate) fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when there is a model in the folder that cannot be opened.
    pub(crate) fn trouble(&self) -> Option<SystemTime> {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens what is in the folder if it is new, or in any case if `must` says so.
    pub(crate) fn look(&self, must: bool, options: Options, task: &Task) -> Looked {
        let Some(folder) = &self.folder else { return Looked::Same };
        let mut exchange = self.exchange.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = Stamp::of(folder);
        let is_new = stamp != exchange.seen;
        let is_due = exchange.failed.as_ref().is_some_and(|failed| failed.again <= Instant::now());
        if !must && !is_new && !is_due {
            return Looked::Same;
        }
        match Opened::open(folder, options, task) {
            Ok(opened) => {
                (exchange.seen, exchange.failed) = (stamp, None);
                *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = None;
                let is_same = opened.id == self.current().id;
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(opened);
                if is_same && !must { Looked::Same } else { Looked::Exchanged }
            }
            Err(error) => {
                let last = exchange.failed.as_ref().filter(|_| !is_new);
                let pause = last.map_or(RETRY.0, |last| (2 * last.pause).min(RETRY.1));
                exchange.seen = stamp;
                exchange.failed = Some(Failed { pause, again: Instant::now() + pause });
                let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
                trouble.get_or_insert_with(SystemTime::now);
                Looked::Refused(error)
            }
        }
    }
}

impl Opened {
    fn open(folder: &Path, options: Options, task: &Task) -> Result<Self, StoreError> {
        let model = Model::open(folder, options, task)?;
        let modified = Stamp::of(folder).and_then(|stamp| stamp.modified);
        Ok(Self::new(model, modified.unwrap_or_else(SystemTime::now)))
    }

    fn new(model: Model, modified: SystemTime) -> Self {
        Opened {
            id: model.manifest().model_id().to_string(),
            model,
            modified,
            languages: Mutex::default(),
            narrower: OnceLock::new(),
            searched: OnceLock::new(),
        }
    }

    /// The model.
    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    /// How many labels there are.
    pub(crate) fn labels(&self) -> usize {
        self.model.labels().counts().len()
    }

    /// The language of the texts, else that of the names.
    pub(crate) fn language(&self) -> Option<String> {
        let of_text = self.model.text().and_then(|reader| reader.language());
        let tag = of_text.map(|language| language.tag().to_owned());
        tag.or_else(|| self.model.labels().languages().next().map(str::to_owned))
    }

    /// The languages of the names, else of the texts.
    pub(crate) fn languages(&self) -> Vec<String> {
        let tags: Vec<String> = self.model.labels().languages().map(str::to_owned).collect();
        if tags.is_empty() { self.language().into_iter().collect() } else { tags }
    }

    /// The labels with their names in a language, if there are some in it, or the model's own if no
    /// language is wanted; the outer `None` means that nothing is known in that language.
    pub(crate) fn names(&self, language: Option<&str>) -> Option<Option<Arc<LabelIndex>>> {
        let labels = self.model.labels();
        let Some(own) = labels.names() else {
            let is_own = language.is_none_or(|tag| self.is_own(tag));
            return is_own.then_some(None);
        };
        let wanted = language.unwrap_or_default().to_ascii_lowercase();
        let mut known = self.languages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(names) = known.get(&wanted) {
            return Some(Some(names.clone()));
        }
        let is_plain =
            wanted.is_empty() || (labels.languages().next().is_none() && self.is_own(&wanted));
        let names = if is_plain { Some(own.clone()) } else { labels.names_in(&wanted) }?;
        let names = Arc::new(names);
        if known.len() < LANGUAGES {
            known.insert(wanted, names.clone());
        }
        Some(Some(names))
    }

    /// Whether a tag is that of the texts, or names a region of it.
    fn is_own(&self, tag: &str) -> bool {
        let main = |tag: &str| tag.split('-').next().unwrap_or_default().to_ascii_lowercase();
        self.language().is_some_and(|own| main(&own) == main(tag))
    }

    /// The labels right below a label, as the vocabulary of the training has them.
    pub(crate) fn narrower(&self, label: u32) -> impl Iterator<Item = u32> {
        let labels = self.model.labels();
        let pairs = self.narrower.get_or_init(|| {
            let ids = 0..self.labels() as u32;
            let pairs = ids.flat_map(|id| labels.broader(id).iter().map(move |&above| (above, id)));
            let mut pairs: Vec<_> = pairs.collect();
            pairs.sort_unstable();
            pairs
        });
        let start = pairs.partition_point(|&(above, _)| above < label);
        pairs[start..].iter().take_while(move |(above, _)| *above == label).map(|&(_, id)| id)
    }

    /// All names of each label in lower case, a line each.
    pub(crate) fn searched(&self) -> &[String] {
        self.searched.get_or_init(|| {
            let names = self.model.labels().names();
            let text = |id: u32| match names {
                Some(names) => {
                    let mut all: Vec<&str> = vec![names.display(id)];
                    all.extend(names.names(id));
                    for language in names.languages().skip(1) {
                        all.extend(names.names_in(language, id));
                    }
                    all.push(names.code(id));
                    all.join("\n").to_lowercase()
                }
                None => id.to_string(),
            };
            (0..self.labels() as u32).map(text).collect()
        })
    }
}

impl Stamp {
    /// That of the manifest in a folder, if there is one.
    fn of(folder: &Path) -> Option<Self> {
        let found = fs::metadata(manifest_file(folder)).ok()?;
        Some(Stamp { modified: found.modified().ok(), bytes: found.len(), file: file(&found) })
    }
}

#[cfg(unix)]
fn file(found: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (found.dev(), found.ino())
}

#[cfg(not(unix))]
fn file(_: &fs::Metadata) -> (u64, u64) {
    (0, 0)
}
