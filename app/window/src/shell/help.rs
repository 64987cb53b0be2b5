use egui::{
    Align, Button, Context, Frame, Grid, Id, Layout, Margin, Rect, RichText, ScrollArea, TextStyle, Ui, UiBuilder, vec2,
};

use super::handbook::{Block, PAGES, Span, SpanStyle, plain};
use crate::{common::dialog_ui, keys::HELP, theme};

/// Width of the list of pages, in points.
const PAGE_LIST: f32 = 150.0;
/// The widest column of a table that does not wrap, in letters.
const WIDEST: usize = 80;

/// Room between a heading and what it is about, and above the next one, in points.
const HEADING_GAPS: (f32, f32) = (6.0, 16.0);
/// Room between items of a list.
const ITEM_GAP: f32 = 4.0;
/// Room between paragraphs.
const TEXT_GAP: f32 = 10.0;

/// The help over the window: the keys, and the pages of the handbook.
#[derive(Default)]
pub struct HelpDialog {
    /// The page of the handbook that is open; none: the keys.
    page: Option<usize>,
    blocks: Vec<Block>,
    /// The heading that is scrolled to next.
    wanted: Option<String>,
}

impl HelpDialog {
    /// Opens a page of the handbook, at one of its sections where one is named.
    pub fn at(page: usize, section: Option<String>) -> Self {
        let blocks = PAGES.get(page).map(super::handbook::Page::blocks).unwrap_or_default();
        Self { page: Some(page), blocks, wanted: section }
    }

    /// Draws it. False when it was closed.
    pub fn ui(&mut self, ctx: &Context) -> bool {
        let size = ctx.content_rect().size();
        let frame = Frame::window(&ctx.global_style());
        let modal = dialog_ui(ctx, Id::unique("help"), frame, 880.0, |ui| {
            let height = (size.y - 120.0).max(200.0);
            ui.horizontal(|ui| {
                ui.heading("Help");
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    if ui.button("Close").accessible_name("Close the help").clicked() {
                        ui.close();
                    }
                });
            });
            ui.separator();
            let mut chosen = None;
            ui.horizontal_top(|ui| {
                ui.allocate_ui_with_layout(vec2(PAGE_LIST, height), Layout::top_down_justified(Align::Min), |ui| {
                    ui.set_width(PAGE_LIST);
                    // In a low window there are more pages than it has room for.
                    ScrollArea::vertical().id_salt("pages").max_height(height).show(ui, |ui| {
                        if ui.add(Button::selectable(self.page.is_none(), "Keys")).clicked() {
                            chosen = Some(Self::default());
                        }
                        for (place, page) in PAGES.iter().enumerate() {
                            if ui.add(Button::selectable(self.page == Some(place), page.title()).wrap()).clicked() {
                                chosen = Some(Self::at(place, None));
                            }
                        }
                    });
                });
                ui.separator();
                // A room of its own: a table that does not know its columns yet would make the whole dialog wider for some frames.
                let room = Rect::from_min_size(ui.cursor().min, vec2(ui.available_width(), height));
                let builder = UiBuilder::new().max_rect(room).layout(Layout::top_down(Align::Min));
                let mut page = ui.new_child(builder);
                page.shrink_clip_rect(room);
                ui.advance_cursor_after_rect(room);
                let scroll = ScrollArea::vertical().id_salt(self.page).max_height(height).auto_shrink(false);
                scroll.show(&mut page, |ui| {
                    ui.vertical(|ui| match self.page {
                        None => keys_ui(ui),
                        Some(_) => chosen = self.page_ui(ui).or(chosen.take()),
                    });
                });
            });
            if let Some(chosen) = chosen {
                *self = chosen;
            }
        });
        !modal.should_close()
    }

    /// Draws the page; the page of a link that was clicked.
    fn page_ui(&mut self, ui: &mut Ui) -> Option<Self> {
        let mut clicked = None;
        let palette = theme::palette(ui.visuals());
        // Rows of text, no controls: the first one of a paragraph is as high as the others, and `gap` says what is between blocks.
        let row = ui.text_style_height(&TextStyle::Body);
        ui.spacing_mut().interact_size.y = row;
        ui.spacing_mut().item_spacing.y = 0.0;
        let mut before = None;
        for (place, block) in self.blocks.iter().enumerate() {
            ui.add_space(gap(before, block));
            before = Some(block);
            match block {
                Block::Heading(level, spans) => {
                    let size = TextStyle::Heading.resolve(ui.style()).size - 2.0 * (*level as f32 - 1.0);
                    let text = plain(spans);
                    let label = ui.label(RichText::new(&text).size(size).color(palette.strong));
                    if self.wanted.as_ref() == Some(&text) {
                        label.scroll_to_me(Some(Align::Min));
                        self.wanted = None;
                    }
                }
                Block::Text(spans) => clicked = line_ui(ui, spans).or(clicked),
                Block::Item(depth, mark, spans) => {
                    ui.horizontal_top(|ui| {
                        ui.add_space(14.0 * (*depth as f32 - 1.0));
                        ui.allocate_ui(vec2(14.0, 0.0), |ui| ui.label(mark));
                        ui.vertical(|ui| clicked = line_ui(ui, spans).or(clicked.take()));
                    });
                }
                Block::Code(code) => {
                    Frame::new().fill(palette.well).inner_margin(Margin::same(8)).show(ui, |ui| {
                        ScrollArea::horizontal().id_salt(place).show(ui, |ui| {
                            ui.add(egui::Label::new(RichText::new(code).monospace()).extend());
                        });
                    });
                }
                Block::Table(rows) => clicked = table_ui(ui, place, rows).or(clicked),
            }
        }
        let file = clicked?;
        let place = PAGES.iter().position(|page| page.file == file)?;
        Some(Self::at(place, None))
    }
}

/// Room above a block of a page.
fn gap(before: Option<&Block>, block: &Block) -> f32 {
    match (before, block) {
        (None, _) => 0.0,
        (_, Block::Heading(..)) => HEADING_GAPS.1,
        (Some(Block::Heading(..)), _) => HEADING_GAPS.0,
        (Some(Block::Item(..)), Block::Item(..)) => ITEM_GAP,
        _ => TEXT_GAP,
    }
}

/// Draws text that wraps; the page of a link that was clicked.
fn line_ui(ui: &mut Ui, spans: &[Span]) -> Option<String> {
    let mut clicked = None;
    let palette = theme::palette(ui.visuals());
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        for Span { text, style } in spans {
            match style {
                SpanStyle::Strong => drop(ui.label(RichText::new(text).color(palette.strong).strong())),
                SpanStyle::Code => drop(ui.label(RichText::new(text).code())),
                SpanStyle::Link(to) if to.starts_with("http") => drop(ui.hyperlink_to(text, to)),
                SpanStyle::Link(to) if PAGES.iter().any(|page| page.file == to) => {
                    if ui.link(text).clicked() {
                        clicked = Some(to.clone());
                    }
                }
                // A link to what is no page of the handbook is its text.
                SpanStyle::Plain | SpanStyle::Link(_) => drop(ui.label(text)),
            }
        }
    });
    clicked
}

/// Draws a table whose columns share the width by the length of their texts; the page of a link that was clicked.
fn table_ui(ui: &mut Ui, salt: usize, rows: &[Vec<Vec<Span>>]) -> Option<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let longest = |column: usize| {
        let letters = |row: &Vec<Vec<Span>>| row.get(column).map_or(0, |cell| plain(cell).chars().count());
        rows.iter().map(letters).max().unwrap_or_default().clamp(4, WIDEST) as f32
    };
    let widths: Vec<f32> = (0..columns).map(longest).collect();
    let whole: f32 = widths.iter().sum();
    let room = ui.available_width() - 12.0 * columns as f32 - 16.0;
    let mut clicked = None;
    Grid::new(("table", salt)).num_columns(columns).striped(true).spacing([12.0, 4.0]).show(ui, |ui| {
        for (place, row) in rows.iter().enumerate() {
            for (cell, width) in row.iter().zip(&widths) {
                let width = (room * width / whole).min(width * 9.0);
                ui.vertical(|ui| {
                    ui.set_width(width);
                    if place == 0 {
                        ui.label(RichText::new(plain(cell)).strong());
                    } else {
                        clicked = line_ui(ui, cell).or(clicked.take());
                    }
                });
            }
            ui.end_row();
        }
    });
    clicked
}

/// Draws every key of the window.
fn keys_ui(ui: &mut Ui) {
    // Rows of text, no controls.
    ui.spacing_mut().interact_size.y = 18.0;
    ui.spacing_mut().item_spacing.y = 4.0;
    for (group, keys) in HELP {
        ui.add_space(6.0);
        ui.label(RichText::new(*group).strong());
        Grid::new(*group).num_columns(2).spacing([16.0, 4.0]).min_col_width(164.0).show(ui, |ui| {
            for (key, what) in *keys {
                let key = if cfg!(target_os = "macos") { key.replace("Ctrl", "Cmd") } else { (*key).to_owned() };
                ui.monospace(key);
                ui.label(*what);
                ui.end_row();
            }
        });
    }
    ui.add_space(10.0);
    let weak = theme::palette(ui.visuals()).weak;
    ui.colored_label(
        weak,
        "On macOS, use Cmd instead of Ctrl. The palette finds panels, presets, runs and actions by name.",
    );
}

#[cfg(test)]
mod tests {
    use egui::{Pos2, RawInput};

    use super::*;

    /// The height of a page of these blocks in a column of 600 points.
    fn height(blocks: Vec<Block>) -> f32 {
        let ctx = Context::default();
        theme::install(&ctx);
        let mut help = HelpDialog { page: Some(0), blocks, wanted: None };
        let screen = Rect::from_min_size(Pos2::ZERO, vec2(600.0, 800.0));
        let input = RawInput { screen_rect: Some(screen), ..RawInput::default() };
        let mut height = 0.0;
        let mut output = ctx.run_ui(input, |ui| {
            let drawn = ui.vertical(|ui| help.page_ui(ui).is_some());
            height = drawn.response.rect.height();
        });
        output.textures_delta.clear();
        height
    }

    fn text(words: usize) -> Vec<Span> {
        let span = |place: usize| {
            let style = if place % 7 == 3 { SpanStyle::Strong } else { SpanStyle::Plain };
            Span { text: "attention ".to_owned(), style }
        };
        (0..words).map(span).collect()
    }

    #[test]
    fn the_rows_of_a_paragraph_are_equally_high() {
        let (one, many) = (height(vec![Block::Text(text(1))]), height(vec![Block::Text(text(60))]));
        let rows = (many / one).round();
        assert!(rows >= 3.0 && (many - rows * one).abs() < 0.1 * one, "{many} {one}");
    }

    #[test]
    fn items_stand_closer_than_paragraphs_and_headings_further() {
        let one = height(vec![Block::Text(text(1))]);
        let below = |block: Block| height(vec![Block::Text(text(1)), block, Block::Text(text(1))]) - one;
        let item = || Block::Item(1, "\u{2022}".to_owned(), text(1));
        let items = height(vec![item(), item()]) - height(vec![item()]);
        let paragraphs = height(vec![Block::Text(text(1)), Block::Text(text(1))]) - one;
        assert!(items < paragraphs, "{items} {paragraphs}");
        assert!(below(Block::Heading(2, text(1))) > 2.0 * paragraphs);
    }
}
