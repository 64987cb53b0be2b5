use super::super::recorder::Recorder;

/// Several runs of one command.
pub fn record(recorder: &mut Recorder<'_>) {
    recorder.succeed("race c.toml --families symmetric --seeds 2 --steps 4");
    recorder.record("race c.toml");
    recorder.record("race c.toml --families symetric");
    recorder.succeed("compare --tag race:tiny");
    recorder.succeed("sweep c.toml --name swept --over model.layers=1,2 --steps 4");
    recorder.succeed("sweep c.toml --name skipped --over model.heads=1,3 --skip --steps 2");
    recorder.record("sweep c.toml --over model.layers");
    recorder.succeed("repeat --tag sweep:swept --seeds 2");
    recorder.record("repeat --tag none");
    recorder.succeed("domains c.toml --name domain --steps 4 --similarity --examples 4");
    recorder.record("domains nothing.toml");
    recorder.succeed("train c.toml --name advised --steps 4 --set probe.every=4 probe.examples=2");
    recorder.succeed("advise advised --similarity 0 --train");
    recorder.succeed("advise advised --outcome");
}
