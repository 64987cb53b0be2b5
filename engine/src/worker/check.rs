use std::path::{Path, PathBuf};

use super::{Event, device, disk_space, initial, outbox::Outbox};
use crate::{
    attention::{Cost, ModelPlan, Workload, estimated_vocabulary},
    config::{Problem, RunConfig},
    data::{
        Reading, data_problems, given_vocabulary, memory, preview, short_text_problems, with_image_shape,
        with_model_tokenizer,
    },
    hub,
    objective::judging_metric,
    store::Store,
};

/// Answers what a config alone cannot tell, on a thread of its own: a network folder can take its time.
pub(super) fn check(outbox: Outbox, config: RunConfig, base_dir: PathBuf, store: Store, revision: u64) {
    let answer = outbox.clone();
    let spawned = std::thread::Builder::new().name("headroom-check".to_owned()).spawn(move || {
        let config = hub::anchored(config, &base_dir);
        // What is wrong with it is told by the problems, and so is what keeps images from being looked at.
        let model = initial::directory_of(&store, &config, &base_dir);
        let data = model.map_or_else(|| config.data.clone(), |model| with_model_tokenizer(&config.data, &model));
        let reading = Reading::of(config.task.as_ref());
        let found = preview(&data, &config.objective(), &reading).ok().flatten().map(Box::new);
        let config = with_image_shape(config.clone()).unwrap_or(config);
        let Judged { problems, free_bytes, vocabulary } = judge(config, &base_dir, &store);
        outbox.send(Event::Checked { revision, problems, free_bytes, vocabulary, preview: found });
    });
    if spawned.is_err() {
        let (problems, free_bytes, vocabulary) = (Vec::new(), None, None);
        answer.send(Event::Checked { revision, problems, free_bytes, vocabulary, preview: None });
    }
}

/// What a config alone does not tell.
struct Judged {
    problems: Vec<Problem>,
    free_bytes: Option<u64>,
    vocabulary: Option<usize>,
}

/// What disk, device and memory say about a config with absolute paths.
fn judge(config: RunConfig, base_dir: &Path, store: &Store) -> Judged {
    let (objective, reading) = (config.objective(), Reading::of(config.task.as_ref()));
    let mut found = data_problems(&config.data, &objective, &reading);
    if found.is_empty() {
        found = short_text_problems(&config.data, (&objective, &reading), config.train.batch);
    }
    // What can be said of images once their size is known.
    found.extend(config.validate().into_iter().filter(|problem| problem.field == "model.patch"));
    found.extend(judging_metric(&config).err());
    let begins = initial::anchored(store, config.clone(), base_dir).map_err(|problem| vec![problem]);
    let known = begins.as_ref().ok().and_then(|config| initial::vocabulary_of(store, config));
    let further = begins.and_then(|config| initial::plan_of(store, &config)).unwrap_or_else(|problems| {
        found.extend(problems);
        None
    });
    let vocabulary = known.or_else(|| given_vocabulary(&config.data, &config.objective()));
    let (config, paths) = (&config, store.paths());
    let free = match device::free_bytes(config.device) {
        Ok(free) => free,
        Err(why) => {
            found.push(Problem::new("device", why));
            return Judged { problems: found, free_bytes: None, vocabulary };
        }
    };
    let resolved = ModelPlan::resolve(config, vocabulary.unwrap_or_else(|| estimated_vocabulary(config)));
    if let Ok(plan) = resolved.map(|plan| further.unwrap_or(plan)) {
        if let Some(why) = disk_space::shortage(config, &plan, paths, 0) {
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
    Judged { problems: found, free_bytes: free, vocabulary }
}
