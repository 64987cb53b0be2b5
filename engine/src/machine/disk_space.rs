use crate::{
    attention::{Cost, ModelPlan, Workload},
    checkpoint,
    config::{DEFAULT_STEPS, RunConfig, counted},
    data::memory::words,
    store::StorePaths,
    train::dtype_of,
};

/// Settings, headers and what the file system takes for a directory of files.
const DIRECTORY_BYTES: u64 = 1 << 16;
/// What must be free beside a checkpoint that is written.
const MARGIN_BYTES: u64 = 1 << 20;
/// What a token of the vocabulary takes in `tokenizer.json`.
const TOKEN_BYTES: u64 = 64;
/// An empty database with its log.
const DATABASE_BYTES: u64 = 1 << 20;
/// The points of a step: four series, with their keys.
const STEP_BYTES: u64 = 160;
/// So many steps are counted at most: few longer runs reach their end, and their disk changes until then.
const STEPS: u64 = 1_000_000;
/// The database's log, which grows up to its limit before it is worked in.
const LOG_BYTES: u64 = 16 << 20;
/// The least that a step adds to the log until then: a page.
const STEP_LOG_BYTES: u64 = 4096;

/// What a run keeps on disk, by estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DiskNeed {
    /// Bytes of a checkpoint that can be gone on from.
    checkpoint: u64,
    /// So many of them are there at once, with the one that is being written.
    checkpoints: u64,
    /// Bytes of the best model.
    best: u64,
    /// Bytes of the database and its log.
    database: u64,
}

impl DiskNeed {
    fn of(config: &RunConfig, plan: &ModelPlan) -> Self {
        let train = &config.train;
        let steps = train.steps.unwrap_or(DEFAULT_STEPS);
        let logged = steps.min(STEPS);
        let weights =
            Cost::of(plan, &Workload::training(config)).parameters * dtype_of(config.precision).size_in_bytes() as u64;
        let rest = DIRECTORY_BYTES + plan.vocabulary() as u64 * TOKEN_BYTES;
        // At each interval, and at the end.
        let regular = if train.checkpoint_every == 0 { 1 } else { steps.div_ceil(train.checkpoint_every).max(1) };
        Self {
            // With two moments of the optimiser.
            checkpoint: 3 * weights + rest,
            // With the newest between regular ones, which goes once the next one is written.
            checkpoints: regular.min(train.keep_checkpoints as u64 + 1) + 1,
            best: weights + rest,
            database: DATABASE_BYTES + logged * STEP_BYTES + LOG_BYTES.min(logged * STEP_LOG_BYTES),
        }
    }

    fn bytes(self) -> u64 {
        self.checkpoint * self.checkpoints + self.best + MARGIN_BYTES + self.database
    }
}

/// Why there is too little space on the store's disk for a run, in numbers, as a part of a sentence; none where there is
/// enough, or where nobody knows. `has` is what the run keeps there already.
pub(crate) fn shortage(config: &RunConfig, plan: &ModelPlan, paths: &StorePaths, has: u64) -> Option<String> {
    judged(DiskNeed::of(config, plan), checkpoint::free_bytes(paths.root())?, has)
}

fn judged(need: DiskNeed, free: u64, has: u64) -> Option<String> {
    let needed = need.bytes().saturating_sub(has);
    (free < needed).then(|| {
        format!(
            "the run needs about {} on the store's disk ({} of {}, the best model of {}, {} of metrics), {} is free",
            words(needed),
            counted(need.checkpoints, "checkpoint"),
            words(need.checkpoint),
            words(need.best),
            words(need.database),
            words(free)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::from_toml;

    fn need(train: &str) -> DiskNeed {
        let toml = format!(
            "format = 1\n[data]\nkind = \"grammar\"\nsequence_length = 16\ntokenizer = {{ kind = \"bytes\" }}\n[model]\n\
             kind = \"decoder\"\nlayers = 2\nheads = 2\nwidth = 16\nfeed_forward = 32\n[train]\n{train}\n"
        );
        let config = from_toml(&toml).unwrap();
        DiskNeed::of(&config, &ModelPlan::resolve(&config, 257).unwrap())
    }

    #[test]
    fn as_many_checkpoints_are_counted_as_are_there_at_once() {
        assert_eq!(need("steps = 100\ncheckpoint_every = 10\nkeep_checkpoints = 2").checkpoints, 4);
        assert_eq!(need("steps = 20\ncheckpoint_every = 10\nkeep_checkpoints = 5").checkpoints, 3);
        assert_eq!(need("steps = 100\ncheckpoint_every = 0\nkeep_checkpoints = 5").checkpoints, 2);
        let (short, long) = (need("steps = 100"), need("steps = 1000000"));
        assert!(short.checkpoint > short.best && long.database > short.database + 100_000_000, "{short:?} {long:?}");
        assert_eq!(need("steps = 9000000").database, long.database);
    }

    #[test]
    fn too_little_space_is_told_in_numbers() {
        let need = DiskNeed { checkpoint: 30 << 20, checkpoints: 3, best: 10 << 20, database: 4 << 20 };
        assert_eq!(judged(need, 105 << 20, 0), None);
        let why = judged(need, 64 << 20, 0).unwrap();
        for words in
            ["105.0 MiB", "3 checkpoints of 30.0 MiB", "model of 10.0 MiB", "4.0 MiB of metrics", "64.0 MiB is free"]
        {
            assert!(why.contains(words), "{words}: {why}");
        }
        assert_eq!(judged(need, 64 << 20, 50 << 20), None, "what a run that goes on has on disk is not needed again");
    }
}
