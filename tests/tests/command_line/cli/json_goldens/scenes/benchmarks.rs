use super::{super::recorder::Recorder, train};

/// What is measured.
pub fn record(recorder: &mut Recorder<'_>) {
    recorder.succeed("bench list");
    recorder.succeed("bench step --width 16 --layers 1 --heads 2 --sequence-length 8 --batch 2 --vocabulary 64 --steps 2 --warmup 1 --threads 1 --profile");
    recorder.record("bench step --steps 0");
    recorder.succeed(
        "bench sweep c.toml --axis model.heads=2,3 --side pre --side post:model.norm=post --steps 2 --name widths",
    );
    recorder.succeed("bench sweep c.toml --axis model.heads=2,1 --steps 2 --name narrow");
    recorder.record("bench sweep c.toml --axis model.layers");
    recorder.succeed("bench generate c.toml --axis source=4,8 --beam 2 --batch 2 --new-tokens 4 --runs 2 --cache none,key_value --name texts");
    recorder.record("bench generate c.toml --axis source=0");
    // How many fit depends on what the process holds by itself.
    recorder.record_anytime("bench largest-batch c.toml --memory 100000000");
    recorder.record("bench largest-batch c.toml --set model.layers=0");
    train(recorder.program, &["--steps", "2"]);
    let _ = recorder.program.run(&["export", "tiny", "--to", "model"]).expect_code(0);
    recorder.succeed("bench forward model --batch 2 --tokens 8 --runs 2 --warmup 1 --threads 1");
    recorder.record("bench forward nowhere");
    recorder.succeed("bench list");
    recorder.succeed("bench show narrow");
    recorder.record("bench show nothing");
    recorder.succeed("bench compare widths narrow");
    recorder.record("bench compare widths nothing");
    recorder.succeed("bench delete narrow");
    recorder.record("bench delete nothing");
    recorder.succeed("bench restore narrow");
    recorder.record("bench restore nothing");
}
