use super::Command;

/// What reaches the desk.
pub(super) enum Note {
    /// From outside.
    Command(Command),
    /// What is written about the current run changed: its state, its best, its checkpoints.
    RunsChanged,
    /// The engine thread is done with its job.
    JobDone,
}
