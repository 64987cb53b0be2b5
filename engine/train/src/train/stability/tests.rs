use super::*;

const STEPS: u64 = 1000;
const VOCABULARY: usize = 257;

/// Repeatable noise, near enough to a normal distribution with standard deviation 1.
fn noise(seed: u64, step: u64) -> f64 {
    let draw = |salt: u64| {
        let mut bits = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ step.wrapping_mul(0xd1b5_4a32_d192_ed03) ^ salt;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..12).map(|salt| draw(salt * 0x5851_f42d)).sum::<f64>() - 6.0
}

/// Every verdict of a curve with the step at which it came, and what holds in the end.
fn told(steps: u64, loss: impl Fn(u64) -> f64) -> (Vec<(u64, &'static str)>, Health) {
    let mut stability = Stability::new(VOCABULARY, steps);
    let told =
        (1..=steps).filter_map(|step| Some((step, stability.step(step, loss(step))?.word()))).collect::<Vec<_>>();
    (told, stability.end())
}

/// From ln V down to `floor`.
fn fall(step: u64, floor: f64) -> f64 {
    floor + (5.55 - floor) * (-(step as f64) / 120.0).exp()
}

#[test]
fn curves_as_they_are_raise_no_alarm() {
    type Curve = (&'static str, fn(u64, u64) -> f64);
    let curves: [Curve; 10] = [
        ("smooth", |_, step| fall(step, 1.0)),
        ("noisy", |seed, step| fall(step, 2.0) + 0.15 * noise(seed, step)),
        ("one example a batch", |seed, step| fall(step, 2.5) + 0.7 * noise(seed, step)),
        ("nothing to learn", |seed, step| 5.58 + 0.02 * noise(seed, step)),
        ("nothing to learn, from few tokens", |seed, step| 5.6 + 0.4 * noise(seed, step)),
        ("a plateau, then understanding", |seed, step| {
            (if step < 700 { fall(step, 2.9) } else { 1.0 + 1.9 * (-((step - 700) as f64) / 60.0).exp() })
                + 0.1 * noise(seed, step)
        }),
        ("spikes that recover", |seed, step| {
            let spike = if step > 100 && step % 150 < 8 { 3.0 } else { 0.0 };
            fall(step, 1.5) + spike + 0.1 * noise(seed, step)
        }),
        (
            "one step of huge loss",
            |seed, step| {
                if step == 500 { 3e5 } else { fall(step, 1.5) + 0.1 * noise(seed, step) }
            },
        ),
        ("a bump at the end of the warm-up", |seed, step| {
            let bump = 0.5 * (-((step as f64 - 140.0) / 25.0).powi(2)).exp();
            fall(step, 2.0) + bump + 0.1 * noise(seed, step)
        }),
        ("a first jump without warm-up", |seed, step| {
            fall(step, 2.0)
                + 4.0 * (-(step as f64) / 4.0).exp() * f64::from(u8::from(step > 1))
                + 0.1 * noise(seed, step)
        }),
    ];
    for (name, curve) in curves {
        for seed in 0..40 {
            let (told, end) = told(STEPS, |step| curve(seed, step));
            assert!(told.is_empty() && !end.is_bad(), "{name}, seed {seed}: {told:?}, {end:?}");
        }
    }
}

#[test]
fn a_loss_that_grows_past_all_bounds_is_diverged() {
    // As with a learning rate of 90: from 7 past 300,000.
    let (told, end) = told(200, |step| if step == 1 { 7.0 } else { 7.0 + 1500.0 * step as f64 });
    assert_eq!(told.iter().map(|told| told.1).collect::<Vec<_>>(), ["unstable", "diverged"]);
    assert!(told[0].0 < 40 && told[1].0 < 80, "{told:?}");
    let Health::Diverged { since_step, loss, best, best_step } = end else { panic!("{end:?}") };
    assert!(since_step <= 10 && loss > 200_000.0, "{end:?}");
    assert_eq!((best, best_step), (7.0, 1));
    assert!(end.why().contains("282,007 after 7.000 at step 1"), "{}", end.why());
    // Wild instead of growing.
    for seed in 0..20 {
        let (_, end) = self::told(300, |step| if step == 1 { 5.6 } else { 1e4 * (noise(seed, step)).exp() });
        assert!(matches!(end, Health::Diverged { .. }), "{seed}: {end:?}");
    }
}

#[test]
fn a_jump_to_where_nothing_is_known_is_diverged_though_it_is_better_than_guessing() {
    for seed in 0..20 {
        let (told, end) =
            told(STEPS, |step| (if step < 600 { fall(step, 1.5) } else { 4.6 }) + 0.1 * noise(seed, step));
        assert_eq!(told.iter().map(|told| told.1).collect::<Vec<_>>(), ["unstable", "diverged"], "{seed}");
        assert!((620..650).contains(&told[0].0) && (700..730).contains(&told[1].0), "{told:?}");
        let Health::Diverged { since_step, .. } = end else { panic!("{end:?}") };
        assert!((600..625).contains(&since_step), "{end:?}");
    }
}

#[test]
fn what_comes_back_is_sound_again() {
    let (told, end) = told(STEPS, |step| {
        let away = if (400..470).contains(&step) { 2.5 } else { 0.0 };
        fall(step, 1.5) + away + 0.1 * noise(1, step)
    });
    assert_eq!(told.iter().map(|told| told.1).collect::<Vec<_>>(), ["unstable", "sound"]);
    assert_eq!(end, Health::Sound);
    let (told, end) = self::told(STEPS, |step| {
        let away = if (400..700).contains(&step) { 2.5 } else { 0.0 };
        fall(step, 1.5) + away + 0.1 * noise(1, step)
    });
    assert_eq!(told.iter().map(|told| told.1).collect::<Vec<_>>(), ["unstable", "diverged", "sound"]);
    assert_eq!(end, Health::Sound);
}

#[test]
fn a_rise_at_the_very_end_counts_at_once() {
    let (told, end) = told(STEPS, |step| if step < 970 { fall(step, 1.5) } else { 50.0 });
    assert!(told.iter().all(|told| told.1 != "diverged"), "{told:?}");
    assert!(matches!(end, Health::Diverged { .. }), "{end:?}");
    // A short run is judged too, one of a few steps is not.
    assert!(matches!(self::told(20, |step| 5.0 * step as f64).1, Health::Diverged { .. }));
    assert_eq!(self::told(4, |step| 5.0 * step as f64).1, Health::Sound);
}

#[test]
fn another_model_is_judged_by_its_own_best() {
    let curve = |step: u64| if step <= 500 { fall(step, 1.0) } else { 4.5 - 0.002 * (step - 500) as f64 };
    assert!(matches!(told(STEPS, curve).1, Health::Diverged { .. }));
    let mut stability = Stability::new(VOCABULARY, STEPS);
    for step in 1..=STEPS {
        assert_eq!(stability.step(step, curve(step)), None, "{step}");
        if step == 500 {
            stability.restart();
        }
    }
    assert_eq!(stability.end(), Health::Sound);
}

/// The plateau of evaluations every `every` steps, and when it was told.
fn plateau(every: u64, loss: impl Fn(u64) -> f64) -> (Vec<(u64, &'static str)>, Health) {
    let mut stability = Stability::new(VOCABULARY, STEPS);
    let steps = (1..=STEPS / every).map(|count| count * every);
    let told = steps.filter_map(|step| Some((step, stability.evaluated(step, loss(step))?.word()))).collect();
    (told, stability.end())
}

#[test]
fn a_plateau_is_told_with_the_step_of_the_last_improvement() {
    let (told, end) =
        plateau(50, |step| if step <= 300 { 5.0 - step as f64 / 100.0 } else { 2.0 + 1e-4 * noise(3, step) });
    assert_eq!(told, [(650, "plateau")]);
    assert!(matches!(end, Health::Plateau { since_step: 300, .. }), "{end:?}");
    assert!(!end.is_bad() && end.why().contains("since step 300 (2.000)"), "{}", end.why());
    // Overfitting is one as well; a new improvement ends it.
    let (told, end) = plateau(50, |step| match step {
        ..=300 => 5.0 - step as f64 / 100.0,
        301..=800 => 2.0 + (step - 300) as f64 / 1000.0,
        _ => 1.0,
    });
    assert_eq!((told, end), (vec![(650, "plateau"), (850, "sound")], Health::Sound));
}

#[test]
fn the_end_of_a_schedule_is_no_plateau() {
    // Along half a cosine the last third still improves, ever more slowly.
    for seed in 0..20 {
        let curve = |step: u64| {
            let progress = step as f64 / STEPS as f64;
            1.5 + 2.0 * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()) + 0.002 * noise(seed, step)
        };
        for every in [20, 50, 100] {
            assert_eq!(plateau(every, curve), (Vec::new(), Health::Sound), "every {every}, seed {seed}");
        }
    }
    let (told, _) = plateau(250, |_| 2.0);
    assert!(told.is_empty(), "four evaluations say nothing");
}

#[test]
fn a_run_that_is_continued_is_judged_as_one_that_never_stopped() {
    let curve = |step: u64| (if step < 600 { fall(step, 1.5) } else { 4.6 }) + 0.1 * noise(2, step);
    let mut whole = Stability::new(VOCABULARY, STEPS);
    let mut again = Stability::new(VOCABULARY, STEPS);
    for step in 1..=STEPS {
        let (a, b) = (whole.step(step, curve(step)), again.step(step, curve(step)));
        assert_eq!(a, b);
        if step == 610 {
            again = Stability::new(VOCABULARY, STEPS);
            for before in 1..=step {
                let _ = again.step(before, curve(before));
            }
        }
    }
    assert_eq!(whole.end(), again.end());
}

#[test]
fn every_verdict_says_why_and_every_bad_one_what_to_do() {
    let rise = (300, 4.0, 2.0, 250);
    let (since_step, loss, best, best_step) = rise;
    for health in [
        Health::Plateau { since_step, loss },
        Health::Stalled { after_step: 0, secs: 61.4, during: Activity::Step },
        Health::Stalled { after_step: 7, secs: 61.4, during: Activity::Checkpoint },
        Health::Unstable { since_step, loss, best, best_step },
        Health::Diverged { since_step, loss, best, best_step },
    ] {
        assert!(health.why().ends_with('.'), "{health:?}");
        assert_eq!(health.is_bad(), !health.what_to_do().is_empty(), "{health:?}");
        let text = serde_json::to_string(&health).unwrap();
        assert!(text.contains(&format!("\"kind\":\"{}\"", health.word())), "{text}");
        assert_eq!(serde_json::from_str::<Health>(&text).unwrap(), health);
    }
    assert_eq!(Health::Sound.why(), "");
}
