use super::*;

#[test]
fn what_came_out_stands_beside_what_was_predicted_and_what_is_missing_says_why() {
    let config = config(3, 2);
    let found = analysis(planted(3, 2, 0.6, &[(at(0, 0), at(1, 0), 0.9)]));
    let adviser = Adviser::new(&config, "x", None, &found, Some(&[1.0, 0.5, 0.1])).unwrap();
    let wishes = Wishes { similarity: Some(0.8), energy: Some(0.9), error: Some(0.2) };
    let prediction = adviser.advise(wishes).prediction.unwrap();
    let before = Trained {
        has_finished: true,
        parameters: Some(prediction.present.parameters),
        step_secs: Some(0.5),
        best_validation_loss: Some(2.0),
        analysis: Some(&found),
        ..Trained::default()
    };
    let row = |outcome: &Outcome, what: &str| -> OutcomeRow {
        outcome.rows.iter().find(|row| row.what.starts_with(what)).unwrap_or_else(|| panic!("{what}")).clone()
    };
    let waiting = Outcome::new(&prediction, &before, &Trained::default());
    for what in ["Parameters", "Time of a step", "Borrowed maps", "Dimensions", "Error", "Best", "Its difference"] {
        let row = row(&waiting, what);
        assert!(row.came_out.is_none() && row.note == "the run did not train to its end", "{row:?}");
    }
    let mut trained = analysis(planted(3, 2, 0.3, &[(at(0, 0), at(1, 0), 1.0)]));
    trained.captured.as_mut().unwrap().layers[2].all_products = vec![1.0];
    let after = Trained {
        has_finished: true,
        parameters: Some(prediction.proposed.parameters),
        step_secs: Some(0.25),
        best_validation_loss: Some(2.25),
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
    assert_eq!(row(&outcome, "Peak memory").note, "one of the two has no reading");
    let text = serde_json::to_string(&prediction).unwrap();
    assert_eq!(serde_json::from_str::<Prediction>(&text).unwrap(), prediction);
}
