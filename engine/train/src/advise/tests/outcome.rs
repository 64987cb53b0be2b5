use super::*;

#[test]
fn what_came_out_stands_beside_what_was_predicted_and_what_is_missing_says_why() {
    let config = config(3, 2);
    let found = analysis(planted(3, 2, 0.6, &[(at(0, 0), at(1, 0), 0.9)]));
    let adviser = Adviser::new(&config, "x", &ModelFacts::default(), &found, Some(&[1.0, 0.5, 0.1])).unwrap();
    let wishes = Wishes { similarity: Some(0.8), energy: Some(0.9), error: Some(0.2) };
    let prediction = adviser.advise(wishes).prediction.unwrap();
    let before = Trained {
        stands: Stands::Finished,
        parameters: Some(prediction.present.parameters),
        step_secs: Some(0.5),
        best_validation_loss: Some((2.0, 40)),
        analysis: Some(&found),
        ..Trained::default()
    };
    let row = |outcome: &Outcome, what: &str| -> OutcomeRow {
        outcome.rows.iter().find(|row| row.what.starts_with(what)).unwrap_or_else(|| panic!("{what}")).clone()
    };
    for (stands, words) in [
        (Stands::Waits, "the run waits for its turn"),
        (Stands::Trains, "the run trains now: step 0 of 1,200"),
        (Stands::EndedEarly, "the run did not train to its end"),
    ] {
        let waiting = Trained { stands, steps_total: Some(1200), ..Trained::default() };
        let waiting = Outcome::new(&prediction, &before, &waiting);
        for what in ["Parameters", "Time of a step", "Borrowed maps", "Dimensions", "Error", "Best", "Its difference"] {
            let row = row(&waiting, what);
            assert!(row.came_out.is_none() && row.note == words, "{row:?}");
        }
    }
    let mut trained = analysis(planted(3, 2, 0.3, &[(at(0, 0), at(1, 0), 1.0)]));
    trained.captured.as_mut().unwrap().layers[2].all_products = vec![1.0];
    let after = Trained {
        stands: Stands::Finished,
        parameters: Some(prediction.proposed.parameters),
        step_secs: Some(0.25),
        best_validation_loss: Some((2.25, 60)),
        score_error: Some(0.15),
        analysis: Some(&trained),
        ..Trained::default()
    };
    let outcome = Outcome::new(&prediction, &before, &after);
    let numbers = |what: &str| {
        let row = row(&outcome, what);
        (row.present, row.predicted, row.came_out)
    };
    let parameters = (prediction.present.parameters as f64, prediction.proposed.parameters as f64);
    assert_eq!(numbers("Parameters"), (Some(parameters.0), Some(parameters.1), Some(parameters.1)));
    assert_eq!(numbers("Time of a step").2, Some(0.5));
    assert_eq!(numbers("Borrowed maps"), (Some(0.9), Some(1.0), Some(1.0)));
    let (_, predicted, came_out) = numbers("Heads that compute");
    assert!((predicted.unwrap() - 0.6).abs() < 1e-9 && (came_out.unwrap() - 0.3).abs() < 1e-9);
    assert_eq!(numbers("Dimensions"), (Some(3.0), Some(3.0), Some(2.0)));
    assert_eq!(numbers("Error"), (None, Some(0.1), Some(0.15)));
    assert_eq!((numbers("Best"), numbers("Its difference").2), ((Some(2.0), None, Some(2.25)), Some(0.25)));
    assert_eq!((row(&outcome, "Best").at_step, row(&outcome, "Time").at_step), (Some(60), None));
    assert_eq!(row(&outcome, "Peak memory").note, "it has no reading");
    assert!(row(&outcome, "Time").note.contains("at different times"));
    let beside = Trained { is_beside: true, ..before };
    assert!(row(&Outcome::new(&prediction, &beside, &after), "Time").note.contains("one right after the other"));
    let elsewhere = Trained { computed_on: Some(("cuda:0", 2)), ..after };
    let time = row(&Outcome::new(&prediction, &before, &elsewhere), "Time");
    assert!(time.came_out.is_none() && time.note.contains("other devices"), "{time:?}");
    // Peaks stand beside each other, and nothing is subtracted: they are of the whole program.
    let (low, high) =
        (Trained { peak_memory_bytes: Some(5e8), ..before }, Trained { peak_memory_bytes: Some(6e8), ..after });
    let peak = row(&Outcome::new(&prediction, &low, &high), "Peak memory");
    assert_eq!((peak.unit, peak.present, peak.predicted, peak.came_out), (Unit::Bytes, Some(5e8), None, Some(6e8)));
    // Half-way: numbers of a step say of which, and what a whole training is needed for is not there yet.
    let looked = Analysis { step: Some(100), ..trained.clone() };
    let half = Trained {
        stands: Stands::Trains,
        steps_done: 120,
        steps_total: Some(1200),
        best_validation_loss: Some((3.0, 100)),
        analysis: Some(&looked),
        ..after
    };
    let outcome = Outcome::new(&prediction, &before, &half);
    for what in ["Borrowed maps", "Heads that compute", "Dimensions", "Best"] {
        let row = row(&outcome, what);
        assert!(row.came_out.is_some() && row.at_step == Some(100), "{row:?}");
        assert!(row.note.starts_with("the run trains now: step 120 of 1,200; "), "{row:?}");
    }
    assert_eq!(row(&outcome, "Its difference").came_out, None);
    // Before the first step nothing came out.
    let looked = Analysis { step: Some(0), ..trained.clone() };
    let begun = Trained { best_validation_loss: Some((9.0, 0)), analysis: Some(&looked), ..half };
    let outcome = Outcome::new(&prediction, &before, &begun);
    for what in ["Borrowed maps", "Heads that compute", "Dimensions", "Best"] {
        assert_eq!((row(&outcome, what).came_out, row(&outcome, what).at_step), (None, None), "{what}");
    }
    let text = serde_json::to_string(&prediction).unwrap();
    assert_eq!(serde_json::from_str::<Prediction>(&text).unwrap(), prediction);
}
