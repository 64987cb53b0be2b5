//! The handbook: its pages, and their Markdown as blocks that can be drawn.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A page of the handbook.
#[derive(Debug)]
pub struct Page {
    /// The name of its file; links between pages use it.
    pub file: &'static str,
    text: &'static str,
}

macro_rules! pages {
    ($($file:literal),* $(,)?) => {
        &[$(Page { file: $file, text: include_str!(concat!("../../../../assets/handbook/", $file)) }),*]
    };
}

/// Every page, in the order of the handbook's table of contents.
pub const PAGES: &[Page] = pages![
    "window.md",
    "configs.md",
    "config_fields.md",
    "translation.md",
    "tasks.md",
    "models.md",
    "races.md",
    "redundancy.md",
    "generation.md",
    "speed.md",
    "command_line.md",
    "store.md",
    "faults.md",
    "limits.md",
    "spectra.md",
    "stability.md",
    "tensors.md",
    "families.md",
];

impl Page {
    /// Its heading.
    pub fn title(&self) -> &'static str {
        self.text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(self.file)
    }

    /// The headings of its sections, without markup.
    pub fn sections(&self) -> Vec<String> {
        let section = |block: &Block| match block {
            Block::Heading(2, spans) => Some(plain(spans)),
            _ => None,
        };
        self.blocks().iter().filter_map(section).collect()
    }

    /// Its content, from top to bottom.
    pub fn blocks(&self) -> Vec<Block> {
        let mut reader = Reader::default();
        for event in Parser::new_ext(self.text, Options::ENABLE_TABLES) {
            reader.take(event);
        }
        reader.blocks
    }
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A heading of this level, from 1.
    Heading(usize, Vec<Span>),
    /// A paragraph.
    Text(Vec<Span>),
    /// An item of a list, with its depth from 1 and its mark.
    Item(usize, String, Vec<Span>),
    /// Code as it is written.
    Code(String),
    /// A table; the first row is its header.
    Table(Vec<Vec<Vec<Span>>>),
}

/// A piece of text in one style.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The text.
    pub text: String,
    /// How it is drawn.
    pub style: SpanStyle,
}

/// How a piece of text is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum SpanStyle {
    /// As body text.
    Plain,
    /// Emphasised.
    Strong,
    /// As code.
    Code,
    /// As a link to this file or address.
    Link(String),
}

/// The text of a line without its styles.
pub fn plain(spans: &[Span]) -> String {
    spans.iter().map(|span| span.text.as_str()).collect()
}

/// Makes blocks of the parser's events.
#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    spans: Vec<Span>,
    strong: usize,
    link: Option<String>,
    code: Option<String>,
    /// The lists that are open, each with the number of its next item where it is numbered.
    lists: Vec<Option<u64>>,
    mark: Option<String>,
    rows: Vec<Vec<Vec<Span>>>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.text(&text, SpanStyle::Plain),
            },
            Event::Code(text) => self.text(&text, SpanStyle::Code),
            Event::SoftBreak | Event::HardBreak => self.text(" ", SpanStyle::Plain),
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, style: SpanStyle) {
        // The built-in fonts have no raised T.
        let text = text.replace('\u{1d40}', "^T");
        let style = match (style, &self.link) {
            (_, Some(to)) => SpanStyle::Link(to.clone()),
            (SpanStyle::Plain, None) if self.strong > 0 => SpanStyle::Strong,
            (style, None) => style,
        };
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(&text),
            _ => self.spans.push(Span { text, style }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::CodeBlock(_) => self.code = Some(String::new()),
            Tag::Emphasis | Tag::Strong => self.strong += 1,
            Tag::Link { dest_url, .. } => self.link = Some(dest_url.into_string()),
            Tag::List(number) => {
                self.finish_text();
                self.lists.push(number);
            }
            Tag::Item => {
                let number = self.lists.last_mut().and_then(Option::as_mut);
                self.mark = Some(number.map_or_else(
                    || "\u{2022}".to_owned(),
                    |number| {
                        *number += 1;
                        format!("{}.", *number - 1)
                    },
                ));
            }
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                let spans = std::mem::take(&mut self.spans);
                self.blocks.push(Block::Heading(level as usize, spans));
            }
            TagEnd::CodeBlock => {
                self.blocks.extend(self.code.take().map(|code| Block::Code(code.trim_end().to_owned())));
            }
            TagEnd::Emphasis | TagEnd::Strong => self.strong = self.strong.saturating_sub(1),
            TagEnd::Link => self.link = None,
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::Paragraph | TagEnd::Item => self.finish_text(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                self.blocks.push(Block::Table(std::mem::take(&mut self.rows)));
            }
            _ => {}
        }
    }

    /// What was read of a paragraph or an item becomes a block.
    fn finish_text(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        // A second paragraph of an item has no mark of its own.
        self.blocks.push(match self.lists.len() {
            0 => Block::Text(spans),
            depth => Block::Item(depth, self.mark.take().unwrap_or_default(), spans),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &'static str) -> Vec<Block> {
        Page { file: "x.md", text }.blocks()
    }

    fn span(text: &str, style: SpanStyle) -> Span {
        Span { text: text.to_owned(), style }
    }

    #[test]
    fn every_file_of_the_handbook_is_a_page_with_a_title() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/handbook");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "README.md")
            .collect();
        files.sort();
        let mut known: Vec<&str> = PAGES.iter().map(|page| page.file).collect();
        known.sort_unstable();
        assert_eq!(known, files);
        for page in PAGES {
            assert_ne!(page.title(), page.file);
            assert!(page.blocks().len() > 2, "{}", page.file);
        }
    }

    #[test]
    fn markdown_becomes_blocks() {
        use SpanStyle::{Code, Link, Plain, Strong};
        let found =
            blocks("# A `b`\n\nOne\n**two** [c](d.md).\n\n- first\n- second\n  1. inner\n\n```toml\nx = 1\n```\n");
        assert_eq!(
            found,
            [
                Block::Heading(1, vec![span("A ", Plain), span("b", Code)]),
                Block::Text(vec![
                    span("One ", Plain),
                    span("two", Strong),
                    span(" ", Plain),
                    span("c", Link("d.md".to_owned())),
                    span(".", Plain)
                ]),
                Block::Item(1, "\u{2022}".to_owned(), vec![span("first", Plain)]),
                Block::Item(1, "\u{2022}".to_owned(), vec![span("second", Plain)]),
                Block::Item(2, "1.".to_owned(), vec![span("inner", Plain)]),
                Block::Code("x = 1".to_owned()),
            ]
        );
        let table = blocks("| a | b |\n|---|---|\n| `c` | d |\n");
        let cell = |text: &str, style| vec![span(text, style)];
        let rows = vec![vec![cell("a", Plain), cell("b", Plain)], vec![cell("c", Code), cell("d", Plain)]];
        assert_eq!(table, [Block::Table(rows)]);
    }
}
