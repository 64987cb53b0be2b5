//! What was logged is what is read, whatever happens in between.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Action {
    Log(u64),
    Flush,
    /// Go back by so many steps.
    Resume(u64),
    Reopen,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (1u64..40).prop_map(Action::Log),
        2 => Just(Action::Flush),
        2 => (0u64..30).prop_map(Action::Resume),
        1 => Just(Action::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn logged_points_are_read_points(actions in prop::collection::vec(action(), 1..25)) {
        let folder = folder();
        let mut store = open(&folder);
        let mut writer = store.writer().unwrap();
        let run = running(&store, "property");
        let mut expected: Vec<(u64, f64)> = Vec::new();
        let mut live: Vec<(u64, f64)> = Vec::new();
        let mut cursor = None;
        let mut value = 0.0;
        for action in actions {
            match action {
                Action::Log(count) => for _ in 0..count {
                    let step = expected.last().map_or(1, |(step, _)| step + 1);
                    value = (value + 0.37) % 5.0;
                    expected.push((step, value));
                    writer.log(&run, LOSS, step, value, step, step);
                },
                Action::Flush => {
                    writer.flush().unwrap();
                    let data = store.series(&run, LOSS, cursor).unwrap();
                    if data.is_whole {
                        live.clear();
                    }
                    live.extend(data.steps.into_iter().zip(data.values));
                    cursor = data.cursor;
                    prop_assert_eq!(&live, &expected);
                }
                Action::Resume(back) => {
                    expected.truncate(expected.len().saturating_sub(back as usize));
                    let first_step = expected.last().map_or(1, |(step, _)| step + 1);
                    store.begin_attempt(&run, first_step).unwrap();
                }
                Action::Reopen => {
                    drop(store);
                    store = open(&folder);
                    writer = store.writer().unwrap();
                }
            }
        }
        writer.flush().unwrap();
        let data = store.series(&run, LOSS, None).unwrap();
        let read: Vec<_> = data.steps.into_iter().zip(data.values).collect();
        prop_assert_eq!(&read, &expected);
        let metrics = store.record(&run).unwrap().summary.metrics;
        let best = expected.iter().copied().min_by(|left, right| left.1.total_cmp(&right.1));
        match (metrics.get(LOSS), expected.last()) {
            (Some(found), Some(last)) => {
                prop_assert_eq!((found.last_step, found.last), *last);
                prop_assert_eq!(found.best, best.map(|(_, value)| value));
                prop_assert_eq!(found.best_step, best.map(|(step, _)| step));
                prop_assert_eq!(found.count, expected.len() as u64);
            }
            (found, last) => prop_assert!(found.is_none() && last.is_none()),
        }
    }
}
