use egui::{Vec2, pos2};

use super::*;

#[test]
fn clicks_select_toggle_and_extend() {
    let rows = [5, 3, 9, 1];
    let mut state = TableState::default();
    state.click(&rows, 3, false, false);
    assert_eq!(state.selected, [3].into());
    state.click(&rows, 1, false, true);
    assert_eq!(state.selected, [1, 3, 9].into(), "everything from the anchor, in row order");
    state.click(&rows, 5, true, false);
    state.click(&rows, 9, true, false);
    assert_eq!(state.selected, [1, 3, 5].into());
    state.click(&rows, 9, false, false);
    assert_eq!(state.selected, [9].into());
    assert_eq!(state.cursor, Some(9));
}

#[test]
fn the_keyboard_stays_inside() {
    let rows = [5, 3, 9];
    let mut state = TableState::default();
    assert_eq!(state.step(&rows, 1), Some(5));
    assert_eq!(state.step(&rows, -7), Some(5));
    assert_eq!(state.step(&rows, 99), Some(9));
    state.cursor = Some(1234);
    assert_eq!(state.step(&rows, -1), Some(9), "a row that is gone");
    assert_eq!(state.step(&[], 1), None);
}

#[test]
fn sorting_goes_round_and_missing_stays_last() {
    let mut state = TableState::default();
    state.toggle_sorting("a");
    state.toggle_sorting("a");
    assert_eq!(state.sorting, Some(Sorting { column: "a".to_owned(), descending: true }));
    state.toggle_sorting("b");
    assert_eq!(state.sorting, Some(Sorting { column: "b".to_owned(), descending: false }));
    state.toggle_sorting("b");
    state.toggle_sorting("b");
    assert_eq!(state.sorting, None);

    let keys = [
        SortKey::Number(2.0),
        SortKey::Missing,
        SortKey::Number(f64::NAN),
        SortKey::Number(-1.0),
        SortKey::Number(10.0),
    ];
    for (descending, expected) in [(false, [3, 0, 4, 1, 2]), (true, [4, 0, 3, 1, 2])] {
        let mut rows = [0, 1, 2, 3, 4];
        sort_rows(&mut rows, descending, |&row| keys[row].clone());
        assert_eq!(rows, expected);
    }
    let mut names = ["b", "A", "a"];
    sort_rows(&mut names, false, |name| SortKey::Text((*name).to_owned()));
    assert_eq!(names, ["A", "a", "b"]);
}

#[test]
fn hidden_columns_are_hidden_unless_they_must_stay() {
    let state = TableState { hidden: ["name".to_owned(), "loss".to_owned()].into(), ..TableState::default() };
    assert!(state.shows(&Column::text("name", "Name", 100.0).always()));
    assert!(!state.shows(&Column::number("loss", "Loss", 60.0)));
}

#[test]
fn where_there_is_no_room_the_least_important_columns_give_way() {
    let columns = [
        Column::text("name", "Name", 100.0),
        Column::number("loss", "Loss", 50.0).rank(1),
        Column::number("tags", "Tags", 50.0).rank(3),
        Column::number("time", "Time", 50.0).rank(2),
    ];
    let without = |width| without_room(&columns, width, 10.0).into_iter().collect::<Vec<_>>();
    assert_eq!(without(280.0), [""; 0]);
    assert_eq!(without(279.0), ["tags"]);
    assert_eq!(without(200.0), ["tags", "time"]);
    assert_eq!(without(10.0), ["loss", "tags", "time"], "what names the row stays");
}

#[test]
fn it_draws_only_visible_rows() {
    let rows: Vec<u64> = (0..10_000).collect();
    let columns = [Column::text("name", "Name", 100.0), Column::number("loss", "Loss", 60.0)];
    let mut state = TableState::default();
    let ctx = egui::Context::default();
    let mut drawn = 0;
    let screen = egui::Rect::from_min_size(pos2(0.0, 0.0), Vec2::new(400.0, 300.0));
    let input = egui::RawInput { screen_rect: Some(screen), ..egui::RawInput::default() };
    let mut output = ctx.run_ui(input, |ui| {
        let table = Table::new("t", "Runs", &columns, &rows);
        let _ = table.show(
            ui,
            &mut state,
            |key| format!("run {key}"),
            |ui, key, column| {
                drawn += 1;
                ui.label(format!("{key} {}", column.id));
            },
        );
    });
    output.textures_delta.clear();
    assert!(drawn > 4 && drawn < 200, "{drawn}");
}
