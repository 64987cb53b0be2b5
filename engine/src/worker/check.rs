use std::path::{Path, PathBuf};

use super::viewer::{ViewContext, spawn};
use crate::{
    attention::{Cost, ModelFacts, ModelPlan, Workload},
    config::{Problem, RunConfig},
    data::{
        DataPreview, Reading, data_problems, given_vocabulary, memory, preview, short_text_problems, with_image_shape,
        with_model_tokenizer,
    },
    hub,
    jobs::initial,
    machine,
    objective::judging_metric,
    protocol::{Event, Outbox, events},
    store::Store,
};

/// Answers what a config alone cannot tell, on a thread of its own: a network folder can take its time.
pub(super) fn check(outbox: Outbox, config: RunConfig, base_dir: PathBuf, store: Store, revision: u64) {
    let answer = outbox.clone();
    let spawned = std::thread::Builder::new().name("headroom-check".to_owned()).spawn(move || {
        let config = hub::anchored(config, &base_dir);
        let (facts, found) = facts_and_preview(Some(&store), &config, &base_dir);
        let config = with_image_shape(config.clone()).unwrap_or(config);
        let (problems, free_bytes) = judge(config, &base_dir, &store, &facts);
        let (facts, preview) = (Box::new(facts), found.map(Box::new));
        outbox.send(events::Checked { revision, problems, free_bytes, facts, preview });
    });
    if spawned.is_err() {
        let (problems, free_bytes, facts) = (Vec::new(), None, Box::default());
        answer.send(Event::Checked(events::Checked { revision, problems, free_bytes, facts, preview: None }));
    }
}

/// Answers with what the data, the tokenizer and the initial model of a config say of its model.
pub(super) fn read_facts(context: ViewContext, config: RunConfig, base_dir: PathBuf) {
    let outbox = context.outbox.clone();
    spawn(&outbox, move || {
        let facts = Box::new(model_facts(Some(&context.store), &config, &base_dir));
        Event::FactsRead(events::FactsRead { config: Box::new(config), base_dir, facts })
    });
}

/// Facts about the model of a config whose relative paths start at a folder. What cannot be read is left out: the problems of the
/// config say why. `store`: where an initial model that is a run is looked for.
pub fn model_facts(store: Option<&Store>, config: &RunConfig, base_dir: &Path) -> ModelFacts {
    facts_and_preview(store, &hub::anchored(config.clone(), base_dir), base_dir).0
}

/// The same of a config with absolute paths, with what was seen of its data.
fn facts_and_preview(store: Option<&Store>, config: &RunConfig, base_dir: &Path) -> (ModelFacts, Option<DataPreview>) {
    let (directory, objective) = (initial::directory_of(store, config, base_dir), config.objective());
    let data = directory.map_or_else(|| config.data.clone(), |model| with_model_tokenizer(&config.data, &model));
    let preview = preview(&data, &objective, &Reading::of(config.task.as_ref())).ok().flatten();
    let initial = initial::anchored(store, config.clone(), base_dir);
    let initial = initial.ok().and_then(|config| initial::model_of(store, &config));
    let facts = ModelFacts {
        vocabulary: initial.as_ref().map(ModelPlan::vocabulary).or_else(|| given_vocabulary(&config.data, &objective)),
        outputs: preview.as_ref().and_then(DataPreview::outputs).filter(|_| config.task.is_some()),
        initial,
        image: preview.as_ref().and_then(DataPreview::images).map(|images| images.shape),
    };
    (facts, preview)
}

/// Problems that disk, device and memory make for a config with absolute paths, and the free memory of its device where it is known.
fn judge(config: RunConfig, base_dir: &Path, store: &Store, facts: &ModelFacts) -> (Vec<Problem>, Option<u64>) {
    let (objective, reading) = (config.objective(), Reading::of(config.task.as_ref()));
    let mut found = data_problems(&config.data, &objective, &reading);
    if found.is_empty() {
        found = short_text_problems(&config.data, (&objective, &reading), config.train.batch);
    }
    // What can be said of images once their size is known.
    found.extend(config.validate().into_iter().filter(|problem| problem.field == "model.patch"));
    found.extend(judging_metric(&config).err());
    let begins = initial::anchored(Some(store), config.clone(), base_dir).map_err(|problem| vec![problem]);
    found.extend(begins.and_then(|config| initial::plan_of(store, &config)).err().unwrap_or_default());
    let (config, paths) = (&config, store.paths());
    let free = match machine::free_bytes(config.device) {
        Ok(free) => free,
        Err(why) => {
            found.push(Problem::new("device", why));
            return (found, None);
        }
    };
    if let Ok(plan) = facts.plan(config) {
        if let Some(why) = machine::shortage(config, &plan, paths, 0) {
            let why = format!(
                "{why}; free some space, keep fewer checkpoints, or choose another place with --store: {}",
                paths.root().display()
            );
            found.push(Problem::new("train.keep_checkpoints", why));
        }
        let cost = Cost::of(&plan, &Workload::training(config));
        let needed = cost.memory_bytes;
        // The mark stands where most of it comes from.
        let field = if cost.activation_bytes > needed / 2 { "train.batch" } else { "model.width" };
        if let Some(free) = free
            && needed > free
        {
            found.push(Problem::new(
                field,
                format!(
                    "a step needs about {}, {} is free; lower the width, the layers, the vocabulary, the length or the batch size",
                    memory::words(needed),
                    memory::words(free)
                ),
            ));
        }
    }
    (found, free)
}
