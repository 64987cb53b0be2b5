//! The table of what is compared.

use std::{
    collections::{BTreeMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher as _},
};

use egui::{Button, Color32, Key, Label, RichText, TextEdit, TextStyle, Ui};

use super::{
    configs::copy_menu_ui,
    courses::Courses,
    lines::{Bundle, Made},
    more_seeds::{MoreSeeds, why_untested},
    rows::{Entry, Measure, Row, rows, text_table},
    view::View,
};
use crate::{
    common::paint_pin,
    compare::{Band, Verdict},
    context::{Action, PanelContext},
    format::Names,
    keys,
    panels::runs::row_swatch_ui,
    plot::XAxis,
    theme::{self, LineStyle},
    widgets::{Column, SortKey, Table, TableState, name_ui, sideways_ui, sort_rows, without_room},
};

/// Room for the panel's scroll bar beside the table, in points.
const BAR: f32 = 8.0;
/// Values that are known to have been measured, at most: of a run that trains for days all would be too many.
const MEASURED: usize = 100_000;
/// Room in a cell beside its words, in points.
const MARGIN: f32 = 10.0;

/// The table, as the user arranged it.
#[derive(Default)]
pub(super) struct ComparedTable {
    table: TableState,
    /// The user chose columns; until then those are shown that there is room for.
    chose_columns: bool,
    /// How wide the columns were at most, by their ids, since these runs are shown.
    widest: BTreeMap<String, f32>,
    /// The rows of then.
    widest_of: Vec<u64>,
    /// What was measured since then, by what tells it: nothing is measured twice.
    measured: HashSet<u64>,
    /// The text of the "column at" field while it is typed.
    at: Option<String>,
}

/// Summary of the differences to the baseline that were tested: that none is more than its noise, or that nothing is known of that.
/// What diverged differs whatever its noise is, and is named in its row.
fn all_in_all(rows: &[Row], measures: &[Measure]) -> &'static str {
    if rows.iter().any(|row| row.is_baseline && row.is_diverged) {
        return "";
    }
    let is_metric = |measure: &Measure| matches!(measure, Measure::Last(_) | Measure::Best(_) | Measure::At(..));
    let others = rows.iter().filter(|row| !row.is_baseline && !row.is_diverged);
    let entries = others.flat_map(|row| row.entries.iter().zip(measures));
    let judged: Vec<&Entry> = entries.filter(|(_, measure)| is_metric(measure)).map(|(entry, _)| entry).collect();
    let is_clear = |entry: &&Entry| matches!(entry.verdict(), Verdict::Better | Verdict::Worse);
    let unclear = |entry: &&Entry| entry.verdict() == Verdict::Unclear;
    let is_known = |entry: &Entry| entry.against.is_some_and(|against| against.delta.half_width.is_some());
    if judged.iter().any(is_clear) || !judged.iter().any(unclear) {
        return "";
    }
    if !judged.iter().filter(|entry| unclear(entry)).any(|entry| is_known(entry)) {
        return "All seeds came to the same, which tells nothing of the noise. ";
    }
    if rows.iter().any(|row| row.is_diverged) {
        "Of the runs that did not diverge no difference clears its noise. "
    } else {
        "No difference clears its noise. "
    }
}

impl ComparedTable {
    /// Draws the table; returns the row under the pointer.
    #[expect(clippy::too_many_arguments, reason = "called once; each is a part of the one frame that is drawn")]
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        bundles: &[Bundle],
        metrics: &[String],
        made: &[Made],
        view: &mut View,
        highlight: Option<u64>,
        more_seeds: &mut MoreSeeds,
        cx: &mut PanelContext<'_>,
    ) -> Option<u64> {
        let common = made.first().and_then(furthest_common);
        let at = view.at.or(common);
        let series: Vec<&str> = metrics.iter().map(String::as_str).collect();
        let measures = Measure::all(&series);
        let words = at_words(view.x, at);
        let baseline = cx.state.selection.baseline.clone();
        let courses = if baseline.is_some() {
            Courses::of(bundles, metrics, view.x, cx.state)
        } else {
            let is_partly = |bundle: &&Bundle| metrics.iter().any(|metric| bundle.counts_in_part(metric));
            let partly: Vec<Bundle> = bundles.iter().filter(is_partly).cloned().collect();
            Courses::of(&partly, metrics, view.x, cx.state)
        };
        let mut table = rows(bundles, &measures, made, at, view.band, baseline.as_ref(), &courses);
        let weak = theme::palette(ui.visuals()).weak;
        let ids: Vec<String> = measures.iter().map(Measure::id).collect();
        let titles: Vec<(String, String)> =
            measures.iter().map(|measure| (measure.title(&words), measure.short(&words))).collect();
        self.keep_widest(ui, &ids, &table);
        let band = view.group.is_some().then_some(view.band);
        let columns = columns((&measures, &ids, &titles), &table, &self.widest, band, view.at.is_some());
        if !self.chose_columns {
            let gap = ui.spacing().item_spacing.x;
            let without = without_room(&columns, ui.available_width() - BAR, gap);
            self.table.hidden = without.into_iter().map(str::to_owned).collect();
        }
        ui.horizontal_wrapped(|ui| {
            let asked = measures.iter().zip(&ids).filter(|(measure, _)| matches!(measure, Measure::At(..)));
            let is_shown = asked.clone().any(|(_, id)| !self.table.hidden.contains(id));
            if self.at_ui(ui, view, common, is_shown) && view.at.is_some() {
                // It comes back with the x that is asked for.
                self.table.hidden.retain(|hidden| asked.clone().all(|(_, id)| id != hidden));
            }
            let hidden = self.table.hidden.clone();
            self.table.columns_menu_ui(ui, &columns);
            self.chose_columns |= hidden != self.table.hidden;
            self.left_out_ui(ui, &columns);
            copy_menu_ui(ui, "Copy table", "The table", || text_table(&table, &measures, &words), cx);
            let text = match table.iter().find(|row| row.is_baseline) {
                Some(row) if row.n > 1 => {
                    format!("Δ: against the mean of \"{}\"; over pairs where two seeds or more repeat", row.name)
                }
                Some(row) => format!("Δ: against the baseline \"{}\"", row.name),
                None => "Pin a baseline to see deltas (p)".to_owned(),
            };
            if let Some(why) = why_untested(&table, &measures) {
                more_seeds.ui(ui, &why, view.group.is_some(), cx);
            }
            // What matters stands where it is not cut off.
            let noise = all_in_all(&table, &measures);
            ui.add(Label::new(RichText::new(noise.to_owned() + &text).color(weak)).truncate());
        });
        self.sort(&mut table, &ids);
        let by_number: BTreeMap<u64, &Row> = table.iter().map(|row| (row.number, row)).collect();
        let order: Vec<u64> = table.iter().map(|row| row.number).collect();
        let names: Names = table.iter().map(|row| row.name.as_str()).collect();
        let focused = cx.state.selection.focused.as_ref();
        let focused =
            bundles.iter().find(|bundle| focused.is_some_and(|run| bundle.has(run))).map(|bundle| bundle.number);
        self.table.selected = focused.into_iter().collect();
        let before = self.table.cursor;
        let mut pin = None;
        let spread = view.band;
        let shown = |ui: &mut Ui| {
            Table::new("compared", "Compared runs", &columns, &order).highlight(highlight).max_height(420.0).show(
                ui,
                &mut self.table,
                |number| by_number.get(&number).map(|row| row.name.clone()).unwrap_or_default(),
                |ui, number, column| {
                    if let Some(row) = by_number.get(&number) {
                        if column.id == "pin" {
                            if pin_cell_ui(ui, row) {
                                pin = Some(number);
                            }
                        } else {
                            let bundle = bundles.iter().find(|bundle| bundle.number == number);
                            let style = bundle.map_or(LineStyle::BASELINE, |bundle| bundle.style);
                            cell_ui(ui, row, column.id, &ids, &measures, (style, &names, spread));
                        }
                    }
                },
            )
        };
        let room = ui.available_width() - BAR;
        let response = ui.scope(|ui| {
            ui.set_max_width(room);
            sideways_ui(ui, "compared", shown)
        });
        let response = response.inner;
        let id_of = |number: u64| {
            let bundle = bundles.iter().find(|bundle| bundle.number == number)?;
            bundle.runs.first().map(|run| run.id.clone())
        };
        let moved = (self.table.cursor != before).then_some(self.table.cursor).flatten();
        if let Some(run) = response.clicked.or(moved).and_then(id_of) {
            cx.state.selection.focused = Some(run);
        }
        if let Some(run) = response.activated.and_then(id_of) {
            cx.act(Action::Inspect(run));
        }
        if keys::plain(ui.ctx(), Key::P) {
            let under = response.hovered.and_then(id_of).or_else(|| cx.state.selection.focused.clone());
            if let Some(run) = under {
                cx.state.selection.toggle_baseline(&run);
            }
        }
        if let Some(run) = pin.and_then(id_of) {
            cx.state.selection.toggle_baseline(&run);
        }
        response.hovered
    }

    /// Says how many columns are not shown, beside the menu that shows them.
    fn left_out_ui(&self, ui: &mut Ui, columns: &[Column<'_>]) {
        let is_hidden = |column: &&Column<'_>| column.hideable && self.table.hidden.contains(column.id);
        let hidden: Vec<&str> = columns.iter().filter(is_hidden).map(|column| column.title).collect();
        if hidden.is_empty() {
            return;
        }
        let why = if self.chose_columns { "Not shown" } else { "There is no room for" };
        let words = RichText::new(format!("{} hidden", hidden.len())).color(theme::palette(ui.visuals()).weak);
        ui.label(words).on_hover_text(format!("{why}: {}", hidden.join("; ")));
    }

    /// The x at which the table compares; an empty field means the furthest that all reach. `is_shown`: the table has the column.
    /// Whether another x was typed.
    fn at_ui(&mut self, ui: &mut Ui, view: &mut View, common: Option<f64>, is_shown: bool) -> bool {
        let quantity = view.x.quantity();
        let what = if is_shown { "Column at" } else { "Add a column at" };
        ui.label(format!("{what} {}", view.x.label().to_lowercase()));
        let mut text = self.at.clone().unwrap_or_else(|| view.at.map(|at| at.to_string()).unwrap_or_default());
        let hint = common.filter(|_| is_shown).map_or_else(String::new, |common| quantity.value(common));
        let typed = ui.add(TextEdit::singleline(&mut text).desired_width(110.0).hint_text(hint));
        let help = if is_shown {
            "One of the columns holds the last value at or before this x, unsmoothed. Empty: the furthest x that all runs reach."
        } else {
            "An x that is typed here adds a column with the last value at or before it, unsmoothed."
        };
        let typed = typed.accessible_name("Column at").on_hover_text(help);
        if typed.changed() {
            use crate::compare::filter::Value;
            view.at = Value::parse_number(text.trim());
            self.at = Some(text);
        } else if !typed.has_focus() {
            self.at = None;
        }
        typed.changed()
    }

    /// Columns grow with what they hold and do not shrink: one that came and went with its digits would take others with it.
    fn keep_widest(&mut self, ui: &Ui, ids: &[String], table: &[Row]) {
        let mut rows: Vec<u64> = table.iter().map(|row| row.number).collect();
        rows.sort_unstable();
        if self.widest_of != rows {
            self.widest.clear();
            self.measured.clear();
            self.widest_of = rows;
        }
        if self.measured.len() > MEASURED {
            self.measured.clear();
        }
        for (place, id) in ids.iter().enumerate() {
            let measured = &mut self.measured;
            let is_new = |entry: &&Entry| {
                let mut hasher = DefaultHasher::new();
                (id, &entry.shown, &entry.delta).hash(&mut hasher);
                measured.insert(hasher.finish())
            };
            let entries = table.iter().filter_map(|row| row.entries.get(place)).filter(is_new);
            let now = entries.map(|entry| width_of(ui, entry)).fold(0.0, f32::max);
            let widest = self.widest.entry(id.clone()).or_default();
            *widest = widest.max(now);
        }
    }

    fn sort(&self, table: &mut [Row], ids: &[String]) {
        let Some(sorting) = &self.table.sorting else { return };
        let index = ids.iter().position(|id| *id == sorting.column);
        sort_rows(table, sorting.descending, |row| match (sorting.column.as_str(), index) {
            ("run", _) => SortKey::Text(row.name.clone()),
            ("n", _) => SortKey::Number(row.n as f64),
            (_, Some(index)) => {
                row.entries.get(index).and_then(|entry| entry.value).map_or(SortKey::Missing, SortKey::Number)
            }
            _ => SortKey::Missing,
        });
    }
}

/// The columns of the table, each with its id, its title and its header, and how wide what they hold is. `band`: what stands
/// behind the means of groups; `is_asked`: an x was typed, whose column stays whatever there is room for.
fn columns<'a>(
    (measures, ids, titles): (&[Measure], &'a [String], &'a [(String, String)]),
    table: &[Row],
    widest: &BTreeMap<String, f32>,
    band: Option<Band>,
    is_asked: bool,
) -> Vec<Column<'a>> {
    let is_grouped = band.is_some();
    let is_compared = table.iter().any(|row| row.is_baseline);
    let mut columns = vec![
        Column::text("pin", "", 36.0).help("Pins the baseline (p)").always().unsorted(),
        Column::text("run", "Run", 150.0).always().grows(),
    ];
    if is_grouped {
        // "2 of 3" needs more room than a number.
        let width = if table.iter().any(|row| row.n < row.of) { 56.0 } else { 36.0 };
        let help = "Runs of the group that its figures are of, and of how many where some have no value or do not count; one that \
                    was repeated with its seed counts once";
        columns.push(Column::number("n", "n", width).help(help));
    }
    for ((measure, id), (title, short)) in measures.iter().zip(ids).zip(titles) {
        let (width, rank) = measure.room(is_grouped, is_compared);
        let rank = match measure {
            _ if !is_asked => rank,
            Measure::At(_, 0) => 0,
            Measure::At(..) => 1,
            _ => rank + 1,
        };
        let widest = widest.get(id).copied().unwrap_or_default();
        let help = band.map_or("", Band::formula);
        columns.push(Column::number(id, title, width.max(widest)).help(help).short(short).rank(rank).keeps());
    }
    columns
}

/// As wide as a value with its difference is drawn, in points: nothing of it is cut.
fn width_of(ui: &Ui, entry: &Entry) -> f32 {
    let of = |text: &str, style: TextStyle| {
        let font = style.resolve(ui.style());
        ui.fonts_mut(|fonts| fonts.layout_no_wrap(text.to_owned(), font, Color32::PLACEHOLDER).size().x)
    };
    let difference =
        if entry.delta.is_empty() { 0.0 } else { of(&entry.delta, TextStyle::Small) + ui.spacing().item_spacing.x };
    of(&entry.shown, TextStyle::Body) + difference + MARGIN
}

/// The largest x that every line reaches.
fn furthest_common(made: &Made) -> Option<f64> {
    made.lines.iter().filter_map(|line| line.series.x().last().copied()).min_by(f64::total_cmp)
}

fn at_words(x: XAxis, at: Option<f64>) -> String {
    match at {
        Some(at) if x == XAxis::RelativeTime => format!("after {}", x.quantity().value(at)),
        Some(at) => format!("at {} {}", x.label().to_lowercase(), x.quantity().value(at)),
        None => format!("at {}", x.label().to_lowercase()),
    }
}

/// The button that pins the row's run; true when it was clicked.
fn pin_cell_ui(ui: &mut Ui, row: &Row) -> bool {
    let palette = theme::palette(ui.visuals());
    let button = Button::selectable(false, "").frame_when_inactive(false).min_size(egui::vec2(22.0, 20.0));
    let button = ui.add(button).on_hover_text("Every other run is compared with the baseline (p)");
    let name =
        if row.is_baseline { "Unpin the baseline".to_owned() } else { format!("Pin {} as the baseline", row.name) };
    button.widget_info(|| egui::WidgetInfo::selected(egui::Role::Button, true, row.is_baseline, &name));
    let colour = if row.is_baseline { palette.accent } else { palette.weak.gamma_multiply(0.4) };
    paint_pin(ui.painter(), button.rect, colour);
    button.clicked()
}

fn cell_ui(
    ui: &mut Ui,
    row: &Row,
    column: &str,
    ids: &[String],
    measures: &[Measure],
    (style, names, band): (LineStyle, &Names, Band),
) {
    let palette = theme::palette(ui.visuals());
    match column {
        "run" => {
            row_swatch_ui(ui, style);
            let name = name_ui(ui, &row.name, names, |name| if row.is_baseline { name.strong() } else { name });
            if !row.left_out.is_empty() {
                name.on_hover_text(&row.left_out);
            }
        }
        "n" => {
            let words = if row.n < row.of { format!("{} of {}", row.n, row.of) } else { row.n.to_string() };
            let n = ui.add(Label::new(words).selectable(false));
            if !row.left_out.is_empty() {
                n.on_hover_text(&row.left_out);
            }
        }
        _ => {
            let index = ids.iter().position(|id| id == column);
            let Some(entry) = index.and_then(|index| row.entries.get(index)) else { return };
            // Cells of numbers are filled from the right.
            if !entry.delta.is_empty() {
                let colour = match entry.verdict() {
                    Verdict::Better => palette.better,
                    Verdict::Worse => palette.worse,
                    Verdict::Unclear | Verdict::NotTested | Verdict::Same | Verdict::Neutral => palette.weak,
                };
                let delta = ui.add(Label::new(RichText::new(&entry.delta).small().color(colour)).selectable(false));
                if delta.hovered()
                    && let Some(about) = index.and_then(|index| entry.about(measures.get(index)?, row.not_judged))
                {
                    delta.on_hover_text(about);
                }
            }
            let value = ui.add(Label::new(&entry.shown).selectable(false));
            if let Some(exact) = entry.value {
                let about = entry.counted_in_part(row.of).into_iter().chain(entry.spread_words(band));
                value.on_hover_text(std::iter::once(exact.to_string()).chain(about).collect::<Vec<_>>().join("\n"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Basis, Comparison, Delta, Summary};

    /// A frame in which the widths of these rows are learnt.
    fn widest_after(ctx: &egui::Context, table: &mut ComparedTable, rows: &[Row]) -> f32 {
        let ids = vec!["loss".to_owned()];
        let output = ctx.run_ui(egui::RawInput::default(), |ui| table.keep_widest(ui, &ids, rows));
        output.drop_without_applying_deltas();
        table.widest["loss"]
    }

    #[test]
    fn columns_grow_with_what_they_hold_and_shrink_only_with_other_rows() {
        let row = |number: u64, shown: &str| Row {
            number,
            name: number.to_string(),
            is_diverged: false,
            n: 1,
            of: 1,
            left_out: String::new(),
            is_baseline: false,
            not_judged: None,
            entries: vec![Entry { shown: shown.to_owned(), ..Entry::default() }],
        };
        let ctx = egui::Context::default();
        theme::install(&ctx);
        let mut table = ComparedTable::default();
        let short = widest_after(&ctx, &mut table, &[row(1, "3.1"), row(2, "3")]);
        let long = widest_after(&ctx, &mut table, &[row(1, "3.111 \u{b1} 0.017"), row(2, "3")]);
        assert!(long > short + 20.0, "{short} {long}");
        // Fewer digits and another order of the rows leave it; another run does not.
        assert_eq!(widest_after(&ctx, &mut table, &[row(2, "3"), row(1, "3.1")]), long);
        assert_eq!(widest_after(&ctx, &mut table, &[row(1, "3.1"), row(3, "3")]), short);
    }

    #[test]
    fn the_column_at_an_x_that_was_typed_stays_where_there_is_room_for_few() {
        let measures = Measure::all(&["validation/loss", "train/loss"]);
        let ids: Vec<String> = measures.iter().map(Measure::id).collect();
        let titles: Vec<(String, String)> =
            measures.iter().map(|measure| (measure.title("at step 50"), measure.short("at step 50"))).collect();
        let without = |is_asked: bool, width: f32| -> Vec<usize> {
            let columns = columns((&measures, &ids, &titles), &[], &BTreeMap::new(), None, is_asked);
            let without = without_room(&columns, width, 0.0);
            (0..6).filter(|&place| without.contains(ids[place].as_str())).collect()
        };
        // Of each loss the last, the best and that at the x; 186 points are those of the name and the pin.
        assert_eq!(without(false, 186.0 + 220.0), [0, 2, 3, 5]);
        assert_eq!(without(true, 186.0 + 220.0), [0, 1, 3, 4]);
        assert_eq!(without(true, 186.0 + 110.0), [0, 1, 3, 4, 5]);
        assert_eq!(without(true, 50.0), [0, 1, 3, 4, 5], "it is to be scrolled to");
    }

    #[test]
    fn what_is_said_of_all_differences_knows_whether_their_noise_is_known() {
        let measures = [Measure::Last("validation/loss".to_owned()), Measure::Parameters];
        let row = |is_baseline: bool, verdict: Verdict, half_width: Option<f64>| {
            let (basis, examples, within_run) = (Basis::Pairs(2), None, None);
            let delta = Delta { absolute: 0.1, relative: None, half_width, basis, examples, within_run, verdict };
            let entry = |delta: Delta| {
                let own = Summary::of(&[1.0]).unwrap();
                Entry { against: Some(Comparison { delta, own, at_step: None }), ..Entry::default() }
            };
            // Of what is no metric nothing is said.
            let entries = vec![entry(delta), entry(Delta { verdict: Verdict::Better, ..delta })];
            let (name, left_out) = ("a".to_owned(), String::new());
            Row { number: 1, name, is_diverged: false, n: 1, of: 1, left_out, is_baseline, not_judged: None, entries }
        };
        let said = |rows: &[Row]| all_in_all(rows, &measures);
        let (noise, unknown) = ("No difference clears its noise. ", "All seeds came to the same");
        let baseline = row(true, Verdict::Better, Some(0.2));
        let mut single = row(false, Verdict::NotTested, None);
        single.entries[0].against.as_mut().unwrap().delta.basis = Basis::Untested(1, 1);
        assert_eq!(said(&[baseline.clone(), single.clone()]), "", "nothing was tested");
        let why = why_untested(&[baseline.clone(), single, row(false, Verdict::Unclear, Some(0.2))], &measures);
        assert_eq!(why.as_deref(), Some("1 seed each: not tested"));
        assert_eq!(why_untested(&[baseline.clone(), row(false, Verdict::Unclear, None)], &measures), None);
        assert_eq!(said(&[baseline.clone(), row(false, Verdict::Unclear, Some(0.2))]), noise);
        assert!(said(&[baseline.clone(), row(false, Verdict::Unclear, None)]).starts_with(unknown));
        let some = [row(false, Verdict::Unclear, None), row(false, Verdict::Unclear, Some(0.2))];
        assert_eq!(said(&some), noise, "of one it is known");
        assert_eq!(said(&[row(false, Verdict::Unclear, None), row(false, Verdict::Worse, Some(0.01))]), "");
        assert_eq!(said(&[baseline.clone(), row(false, Verdict::Neutral, None)]), "");
        // A run that diverged differs, whatever its noise is.
        let diverged = Row { is_diverged: true, ..row(false, Verdict::Unclear, Some(9.0)) };
        assert_eq!(said(&[baseline.clone(), diverged.clone()]), "");
        let beside = [baseline, diverged, row(false, Verdict::Unclear, Some(0.2))];
        assert!(said(&beside).starts_with("Of the runs that did not diverge"), "{}", said(&beside));
        let from_it = Row { is_diverged: true, ..row(true, Verdict::Neutral, None) };
        assert_eq!(said(&[from_it, row(false, Verdict::Unclear, Some(0.2))]), "");
    }

    #[test]
    fn a_column_is_as_wide_as_the_mean_of_a_group_with_its_difference() {
        let entry = Entry {
            value: Some(3.1),
            shown: "3.1111 \u{b1} 0.01699".to_owned(),
            delta: "\u{2212}0.02088 (\u{2212}0.7 %) at 12,800".to_owned(),
            ..Entry::default()
        };
        let ctx = egui::Context::default();
        theme::install(&ctx);
        let mut widths = (0.0, 0.0);
        for _ in 0..3 {
            let output = ctx.run_ui(egui::RawInput::default(), |ui| {
                let drawn = ui.horizontal(|ui| {
                    ui.label(&entry.shown);
                    ui.label(RichText::new(&entry.delta).small());
                });
                widths = (width_of(ui, &entry), drawn.response.rect.width());
            });
            output.drop_without_applying_deltas();
        }
        assert!(widths.0 >= widths.1 && widths.0 < widths.1 + 24.0, "{widths:?}");
    }
}
