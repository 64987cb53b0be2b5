use super::super::recorder::Recorder;

/// Commands that train, list, compare and edit runs, and refusals of them.
pub fn record(recorder: &mut Recorder<'_>) {
    recorder.program.write("broken.toml", "format = 1\n[model\n");
    recorder.record("runs");
    recorder.succeed("presets");
    recorder.succeed("presets grammar-decoder");
    recorder.record("presets gramar-decoder");
    recorder.succeed("devices");
    recorder.record("devices --check abacus");
    recorder.succeed("estimate c.toml");
    recorder.record("estimate broken.toml");
    recorder.record("estimate c.toml --set train.batch=-1");

    recorder.succeed("train c.toml");
    recorder.succeed(
        "train c.toml --name mixed --set attention.compatibility.kind=collaborative attention.compatibility.d_k=8",
    );
    recorder.succeed("train c.toml --name probed --set probe.every=8 probe.examples=2");
    for refused in [
        "",
        " nothing.toml",
        " broken.toml",
        " c.toml --set model.layer=2",
        " c.toml --set model.layers=0 train.batch=0",
    ] {
        recorder.record(&format!("train{refused}"));
    }
    recorder.record("train c.toml --name exploded --set train.learning_rate=1e30 train.clip_norm=0");
    recorder.record("resume tiny");
    recorder.record("resume nobody");

    recorder.succeed("runs");
    recorder.succeed("runs --columns model.width,loss.best,tag --filter name=tiny");
    recorder.record("runs --filter modl.width=3");
    recorder.record("runs --store gone/headroom.db");
    recorder.succeed("show tiny");
    recorder.succeed("show mixed --points");
    recorder.record("show nobody");
    recorder.succeed("compare tiny mixed");
    recorder.record("compare tiny nobody");
    recorder.record("compare tiny mixed --metric validation/los");
    recorder.record("compare --tag race:none");

    recorder.succeed("chart tiny mixed --metric train/loss --difference --out charts");
    recorder.succeed("chart tiny mixed --against parameters --out scatter");
    recorder.record("chart tiny --metric validation/los --out charts2");
    recorder.succeed("mixing mixed --out mixing");
    recorder.record("mixing tiny --out mixing2");

    recorder.succeed("rename probed looked-at");
    recorder.record("rename nobody x");
    recorder.succeed("tag tiny --add one --add two");
    recorder.succeed("tag tiny --remove one");
    recorder.succeed("tag tiny");
    recorder.record("tag tiny --remove missing");
    recorder.succeed("note tiny remarkable");
    recorder.succeed("note tiny");
    recorder.record("note nobody x");
    recorder.succeed("archive mixed");
    recorder.succeed("archive --undo mixed");
    recorder.record("archive nobody");
    recorder.succeed("delete mixed looked-at");
    recorder.record("delete nobody");
    recorder.succeed("restore mixed");
    recorder.record("restore tiny");
    recorder.record("purge");
    recorder.succeed("purge --dry-run");
    recorder.succeed("purge --yes");
    recorder.succeed("purge --yes");

    // Its numbers are chaotic, the events that tell of them are not; it is never evaluated.
    recorder.record_anytime(
        "train c.toml --name wild --steps 160 --set train.learning_rate=90.0 train.schedule={kind=\"constant\"} \
         train.weight_decay=0.0 train.evaluate_every=0 train.checkpoint_every=0 \
         train.stability={kind=\"watch\",stop=true}",
    );
}
