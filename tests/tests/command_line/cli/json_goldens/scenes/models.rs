use super::{super::recorder::Recorder, train};

/// Questions to a trained model, and conversions of it.
pub fn record(recorder: &mut Recorder<'_>) {
    let program = recorder.program;
    program.write("text.txt", headroom_tests::sentences(40));
    program.write("lines.txt", "the\nriver\n");
    train(program, &["--set", "probe.every=8", "probe.examples=2"]);
    train(program, &["--name", "other", "--seed", "4"]);

    recorder.succeed("eval tiny");
    recorder.succeed("eval tiny --data text.txt --which last --tokens 8 --noise 0.1");
    recorder.succeed("eval tiny --coverage partial:k=4 --examples 4");
    recorder.record("eval tiny --data gone.txt");
    recorder.record("eval tiny --which 100");
    recorder.record("eval nobody");
    recorder.succeed("cross tiny other");
    recorder.record("cross tiny other --metric accuracy");

    recorder.succeed("generate tiny --prompt the --max-length 4");
    recorder.succeed("generate tiny --prompt the --max-length 3 --beam 2 --details");
    recorder.succeed("generate tiny --input lines.txt --max-length 2 --cache hidden");
    recorder.succeed("generate tiny --prove --examples 2 --max-length 4");
    recorder.record("generate tiny");
    recorder.record("generate tiny --ids 5,99999");
    recorder.record("generate tiny --prompt the --beam 0");

    recorder.succeed(
        "analyse tiny --similarity --spectrum --captured --reconstruction --examples 4 --tokens 6 --components 3",
    );
    recorder.succeed("analyse tiny --live");
    recorder.record("analyse other --live");
    recorder.record("analyse nobody");
    recorder.succeed("advise tiny --similarity 0");
    recorder.record("advise other");
    recorder.record("advise nobody");
    recorder.record("advise tiny --outcome");

    recorder.succeed("maps tiny --layer 1 --out maps");
    recorder.record("maps tiny --layer 9 --out maps2");

    recorder.succeed("export tiny --to model");
    recorder.record("export tiny --to model");
    recorder.record("export tiny --to none --which 77");
    recorder.succeed("show model");
    recorder.succeed("convert tiny --to collaborative --collaborative --d-k 8 --sweeps 5 --examples 4 --threads 1");
    recorder.succeed("convert model --to grouped --grouped 1 --examples 4 --threads 1");
    recorder.record("convert tiny --to new --grouped 3");
    recorder.succeed("show grouped");
    recorder.record("advise model");
    recorder.succeed("analyse model --similarity --captured --examples 4");
    recorder.succeed("advise model --similarity 0 --energy 0.5");

    recorder.succeed("analyses");
    recorder.succeed("analyses tiny");
    recorder.succeed("analyses show 2 --out analysis");
    recorder.succeed("analyses delete 2");
    recorder.record("analyses show 2");
    recorder.succeed("analyses restore 2");
    recorder.record("analyses restore nothing");
    recorder.record("analyses delete nothing");

    recorder.record("predict tiny --input lines.txt");
    recorder.record("push model mine/model --dry-run");
}
