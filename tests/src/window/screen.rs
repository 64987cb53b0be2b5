use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use egui::{
    Color32, Context, Event, Key, Modifiers, Rect, Role, Shape, UiBuilder, Vec2, accesskit::Toggled,
    epaint::ClippedShape, vec2,
};
use egui_kittest::{Harness, Node, SnapshotOptions, SnapshotResults, kittest::NodeT as _};
use headroom_app::{
    link::Link,
    settings::{Settings, ThemeChoice},
    state::State,
    window::{HeadroomWindow, Program},
};
use headroom_engine::protocol::Command;

/// Longer than anything here takes on a slow machine.
const PATIENCE: Duration = Duration::from_mins(4);

/// Makes the window over a context.
type Make = Box<dyn FnOnce(&Context) -> Program>;

/// The window, once its first frame gave it a context.
enum Slot {
    Waiting(Option<Make>),
    Open(Box<Program>),
}

impl Slot {
    fn open(&mut self, ctx: &Context) -> &mut Program {
        if let Self::Waiting(make) = self {
            let window = make.take().expect("made once")(ctx);
            hold_still(ctx);
            *self = Self::Open(Box::new(window));
        }
        match self {
            Self::Open(window) => window,
            Self::Waiting(_) => unreachable!("opened above"),
        }
    }
}

/// As the harness wants it, which the program's own style replaces: nothing moves by itself.
fn hold_still(ctx: &Context) {
    ctx.all_styles_mut(|style| {
        style.visuals.text_cursor.blink = false;
        style.scroll_animation = egui::style::ScrollAnimation::none();
        style.animation_time = 0.0;
    });
}

/// What was dropped on the window.
#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("it is opened by its path".to_owned())
    }
}

/// A text as it is drawn: cut short where it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Painted {
    /// What is read.
    pub text: String,
    /// In what colour.
    pub color: Color32,
    /// Where, as far as it can be seen.
    pub rect: Rect,
    /// Whether its sides are covered by the edge of what it stands in.
    pub is_cut: bool,
}

/// The whole window on a screen of its own.
///
/// Characters that the built-in fonts cannot draw, and controls without a name, end a test by themselves.
pub struct Screen {
    harness: Harness<'static, Slot>,
    /// The window asked the platform to close it.
    wants_to_close: bool,
}

impl Screen {
    /// A window of this size over a link.
    pub fn new(link: Link, settings: Settings, settings_path: Option<&Path>, size: Vec2) -> Self {
        let settings_path = settings_path.map(Path::to_owned);
        let make = move |ctx: &Context| Program::over(HeadroomWindow::new(ctx, link, settings, settings_path));
        Self::of(Box::new(make), size)
    }

    /// The program on a store that it opens by itself, with all that can go wrong.
    pub fn program(store: &Path) -> Self {
        let store = store.to_owned();
        Self::of(Box::new(move |ctx: &Context| Program::open(ctx, store)), vec2(1280.0, 800.0))
    }

    fn of(make: Make, size: Vec2) -> Self {
        let mut harness = Harness::builder().with_size(size).with_render_cursor(false).build_ui_state(
            |ui: &mut egui::Ui, slot: &mut Slot| {
                let ctx = ui.ctx().clone();
                let window = slot.open(&ctx);
                window.logic(&ctx);
                // The harness leaves a margin; the platform does not.
                let whole = ctx.content_rect();
                ui.scope_builder(UiBuilder::new().max_rect(whole), |ui| {
                    ui.set_clip_rect(whole);
                    window.ui(ui);
                });
            },
            Slot::Waiting(Some(make)),
        );
        harness.run_ok();
        Self { harness, wants_to_close: false }
    }

    /// A window that only records what it asks of the engine. Large enough that nothing has to be scrolled to.
    pub fn recorder() -> Self {
        Self::new(Link::recorder(), Settings::default(), None, vec2(1500.0, 1900.0))
    }

    /// The same for pictures: of the usual size, in one theme.
    pub fn picture(theme: ThemeChoice) -> Self {
        let settings = Settings { theme, ..Settings::default() };
        Self::new(Link::recorder(), settings, None, vec2(1280.0, 800.0))
    }

    /// A window with an engine on a store, and its settings beside it, as the program opens it.
    pub fn engine(store: &Path) -> Self {
        let path = Settings::path_beside(store);
        let (settings, trouble) = Settings::load(&path);
        assert_eq!(trouble, None);
        let link = Link::start(store.to_owned(), Arc::new(|| ())).expect("the engine starts");
        let mut screen = Self::new(link, settings, Some(&path), vec2(1500.0, 1900.0));
        screen.wait("the list of runs", |screen| screen.state().runs_loaded);
        screen.settle();
        screen
    }

    /// Closes the window as the platform does: settings are written, the engine ends.
    pub fn close(mut self) {
        self.program_mut().close();
    }

    /// Asks the window to close, as its button does. Whether it lets itself be closed.
    pub fn request_close(&mut self) -> bool {
        self.viewport_info().events.push(egui::ViewportEvent::Close);
        self.step();
        self.viewport_info().events.clear();
        !self.commands().contains(&egui::ViewportCommand::CancelClose)
    }

    /// Whether the window asked the platform to close it since the last time.
    pub fn wants_to_close(&mut self) -> bool {
        std::mem::take(&mut self.wants_to_close)
    }

    fn viewport_info(&mut self) -> &mut egui::ViewportInfo {
        self.harness.input_mut().viewports.entry(egui::ViewportId::ROOT).or_default()
    }

    fn commands(&self) -> Vec<egui::ViewportCommand> {
        let output = self.harness.output().viewport_output.get(&egui::ViewportId::ROOT);
        output.map(|output| output.commands.clone()).unwrap_or_default()
    }

    /// Whether the store is open.
    pub fn is_open(screen: &mut Self) -> bool {
        let is_open = screen.program_mut().window().is_some();
        if is_open {
            hold_still(&screen.harness.ctx);
        }
        is_open
    }

    fn program_mut(&mut self) -> &mut Program {
        let ctx = self.harness.ctx.clone();
        self.harness.state_mut().open(&ctx)
    }

    /// Gives the screen another size.
    pub fn resize(&mut self, size: Vec2) {
        self.harness.set_size(size);
        self.settle();
    }

    /// The window.
    pub fn window(&mut self) -> &mut HeadroomWindow {
        self.program_mut().window().expect("the store is open")
    }

    /// What the window shows.
    pub fn state(&mut self) -> &mut State {
        &mut self.window().state
    }

    /// Compares what is on the screen with a kept picture; the verdict goes to `results`.
    pub fn snapshot(&mut self, name: &str, options: &SnapshotOptions, results: &mut SnapshotResults) {
        self.harness.snapshot_options(name, options);
        results.extend_harness(&mut self.harness);
    }

    /// The place of everything that can be seen, a line each in the order of a screen reader: left, top, width and height in
    /// points, role and words.
    pub fn layout(&self) -> String {
        let screen = self.harness.ctx.content_rect();
        let line = |node: Node<'_>| {
            let role = node.accesskit_node().role();
            let words = words_of(&node).filter(|_| role != Role::TextRun)?;
            // What stands outside of what is scrolled to has no place.
            node.accesskit_node().bounding_box()?;
            let seen = node.rect().intersect(screen);
            let [left, top, width, height] = [seen.left(), seen.top(), seen.width(), seen.height()].map(f32::round);
            seen.is_positive().then(|| format!("{left} {top} {width} {height} {role:?} {words:?}\n"))
        };
        self.harness.root().children_recursive().filter_map(line).collect()
    }

    /// Compares the layout with a kept one, `tests/layouts/NAME.txt`; with `UPDATE_SNAPSHOTS=1` the file is written instead.
    #[track_caller]
    pub fn check_layout(&mut self, name: &str) {
        self.settle();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/layouts").join(name).with_extension("txt");
        let now = self.layout();
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(&path, now).expect("a file");
            return;
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        let missing = |of: &str, other: &str, sign: char| -> Vec<String> {
            of.lines()
                .filter(|line| !other.lines().any(|known| known == *line))
                .map(|line| format!("{sign} {line}"))
                .collect()
        };
        let changed = [missing(&kept, &now, '-'), missing(&now, &kept, '+')].concat();
        assert!(kept == now, "the layout of {name} is not the one in {}:\n{}", path.display(), changed.join("\n"));
    }

    /// Draws the screen and writes it as a PNG.
    pub fn save(&mut self, path: &Path) {
        self.settle();
        let image = self.harness.render().expect("a picture");
        image.save(path).expect("a file");
    }

    /// What was asked of the engine since the last call; only of a [`Screen::recorder`].
    pub fn recorded(&mut self) -> Vec<Command> {
        self.window().link().map(Link::take_recorded).unwrap_or_default()
    }

    /// A frame.
    pub fn step(&mut self) {
        self.harness.step();
        self.wants_to_close |= self.commands().contains(&egui::ViewportCommand::Close);
    }

    /// A few frames, until what was opened has its size.
    pub fn settle(&mut self) {
        for _ in 0..4 {
            self.step();
        }
        self.harness.check_accessibility();
    }

    /// Frames, until something holds; ends the test when it does not within a minute.
    #[track_caller]
    pub fn wait(&mut self, what: &str, holds: impl Fn(&mut Self) -> bool) {
        let start = Instant::now();
        loop {
            self.step();
            if holds(self) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{what} did not come. On the screen: {:#?}", self.words());
            std::thread::sleep(Duration::from_millis(4));
        }
    }

    /// Waits until something of this name is there.
    #[track_caller]
    pub fn wait_for(&mut self, name: &str) {
        self.wait(&format!("\"{name}\""), |screen| screen.has(name));
    }

    /// Waits until something says this.
    #[track_caller]
    pub fn wait_for_words(&mut self, words: &str) {
        self.wait(&format!("\"{words}\""), |screen| screen.says(words));
    }

    /// The time after which the window wants the next frame.
    pub fn repaint_delay(&self) -> Duration {
        self.harness.output().viewport_output.get(&egui::ViewportId::ROOT).expect("a viewport").repaint_delay
    }

    /// Clicks what has this name; the text that this puts on the clipboard.
    #[track_caller]
    pub fn click_to_copy(&mut self, name: &str) -> Option<String> {
        self.get(name).click();
        self.step();
        // The release of the button is the last frame's event.
        self.harness.output().platform_output.commands.iter().find_map(|command| match command {
            egui::OutputCommand::CopyText(text) => Some(text.clone()),
            _ => None,
        })
    }

    /// Every name and text on the screen.
    pub fn words(&self) -> Vec<String> {
        self.harness.root().children_recursive().filter_map(|node| words_of(&node)).collect()
    }

    /// Whether something has this name or text.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Whether some name or text holds these words.
    pub fn says(&self, words: &str) -> bool {
        self.words().iter().any(|found| found.contains(words))
    }

    /// How many have this name.
    pub fn count(&self, name: &str) -> usize {
        self.harness.root().children_recursive().filter(|node| words_of(node).as_deref() == Some(name)).count()
    }

    /// How many plain labels say exactly this: links, buttons and the run of text inside of a label do not count.
    pub fn labels(&self, words: &str) -> usize {
        let is_label = |node: &Node<'_>| node.accesskit_node().role() == Role::Label;
        let all = self.harness.root().children_recursive();
        all.filter(|node| is_label(node) && words_of(node).as_deref() == Some(words)).count()
    }

    /// Whether colours are those on a dark ground.
    pub fn is_dark(&self) -> bool {
        self.harness.ctx.theme() == egui::Theme::Dark
    }

    /// Every text that was drawn and can be seen.
    pub fn painted(&self) -> Vec<Painted> {
        let of = |clipped: &ClippedShape| {
            let Shape::Text(text) = &clipped.shape else { return None };
            let own = text.galley.job.sections.first().map(|section| section.format.color);
            let own = own.filter(|&color| color != Color32::PLACEHOLDER).unwrap_or(text.fallback_color);
            let (whole, clip) = (clipped.shape.visual_bounding_rect(), clipped.clip_rect);
            let is_cut = whole.left() < clip.left() - 2.0 || whole.right() > clip.right() + 2.0;
            let rect = whole.intersect(clip);
            let rows: Vec<String> = text.galley.rows.iter().map(|row| row.text()).collect();
            let color = text.override_text_color.unwrap_or(own);
            rect.is_positive().then(|| Painted { text: rows.join("\n"), color, rect, is_cut })
        };
        self.harness.output().shapes.iter().filter_map(of).collect()
    }

    /// Every control that can be used, with its place.
    pub fn controls(&self) -> Vec<(String, Rect)> {
        let all = self.harness.root().children_recursive();
        let controls = all.filter(|node| egui::accessibility::is_input(node.accesskit_node().role()));
        controls.filter_map(|node| words_of(&node).map(|words| (words, node.rect()))).collect()
    }

    /// Whether the control of this name can be used.
    #[track_caller]
    pub fn is_enabled(&self, name: &str) -> bool {
        !self.get(name).accesskit_node().is_disabled()
    }

    /// Whether the box or the choice of this name is ticked.
    #[track_caller]
    pub fn is_checked(&self, name: &str) -> bool {
        self.get(name).accesskit_node().toggled() == Some(Toggled::True)
    }

    /// Whether the control of this name has the keyboard.
    #[track_caller]
    pub fn is_focused(&self, name: &str) -> bool {
        self.get(name).is_focused()
    }

    /// The text in the field of this name.
    #[track_caller]
    pub fn value(&self, name: &str) -> String {
        self.get(name).value().unwrap_or_default()
    }

    /// What is said about a field besides its name: its problem, its help, its unit; and whether it is marked as bad.
    #[track_caller]
    pub fn description(&self, name: &str) -> (String, bool) {
        let node = self.get(name).accesskit_node();
        let is_bad = node.data().invalid().is_some();
        (node.data().description().unwrap_or_default().to_owned(), is_bad)
    }

    /// Clicks what has this name.
    #[track_caller]
    pub fn click(&mut self, name: &str) {
        if !self.harness.ctx.content_rect().shrink(60.0).contains(self.get(name).rect().center()) {
            self.get(name).scroll_to_me();
            self.settle();
        }
        let node = self.get(name);
        if node.accesskit_node().role() == Role::Row {
            // In the cell of the name: the middle may be the edge of a column, which is dragged and not clicked.
            let at = node.rect().left_center() + vec2(130.0, 0.0);
            self.click_at(at);
        } else {
            node.click();
        }
        self.settle();
    }

    /// Takes the keyboard from whatever has it.
    pub fn unfocus(&mut self) {
        self.harness.ctx.memory_mut(|memory| {
            if let Some(focused) = memory.focused() {
                memory.surrender_focus(focused);
            }
        });
        self.settle();
    }

    /// Clicks at a place.
    pub fn click_at(&mut self, pos: egui::Pos2) {
        let button = |pressed| Event::PointerButton {
            pos,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        for event in [Event::PointerMoved(pos), button(true), button(false)] {
            self.harness.event(event);
            self.step();
        }
    }

    /// Clicks the middle of what has this name twice, as fast as people do.
    #[track_caller]
    pub fn double_click(&mut self, name: &str) {
        let pos = self.get(name).rect().center();
        let button = |pressed| Event::PointerButton {
            pos,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        // A frame is a quarter of a second here: from release to release there is one.
        for events in
            [vec![Event::PointerMoved(pos), button(true)], vec![button(false), button(true)], vec![button(false)]]
        {
            self.harness.input_mut().events.extend(events);
            self.step();
        }
        self.settle();
    }

    /// Drags with the pointer from the middle of what has this name to the middle of another.
    #[track_caller]
    pub fn drag(&mut self, from: &str, to: &str) {
        let (start, end) = (self.get(from).rect().center(), self.get(to).rect().center());
        let button = |pos, pressed| Event::PointerButton {
            pos,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        let middle = start.lerp(end, 0.5);
        let moves =
            [Event::PointerMoved(start), button(start, true), Event::PointerMoved(middle), Event::PointerMoved(end)];
        for event in moves.into_iter().chain([button(end, false)]) {
            self.harness.event(event);
            self.step();
        }
        self.settle();
    }

    /// Moves the pointer over what has this name, and leaves it there until tooltips are up.
    #[track_caller]
    pub fn point_at(&mut self, name: &str) {
        let at = self.get(name).rect().center();
        self.harness.event(Event::PointerMoved(at));
        for _ in 0..60 {
            self.step();
        }
        self.settle();
    }

    /// Where what has this name stands.
    #[track_caller]
    pub fn rect(&self, name: &str) -> Rect {
        self.get(name).rect()
    }

    /// Gives the keyboard to what has this name.
    #[track_caller]
    pub fn focus(&mut self, name: &str) {
        self.get(name).focus();
        self.settle();
    }

    /// Replaces the text in the field of this name.
    #[track_caller]
    pub fn fill(&mut self, name: &str, text: &str) {
        self.click(name);
        self.press(Modifiers::COMMAND, Key::A);
        if text.is_empty() {
            self.press(Modifiers::NONE, Key::Backspace);
        } else {
            self.type_text(text);
        }
        self.settle();
    }

    /// Types where the keyboard is.
    pub fn type_text(&mut self, text: &str) {
        self.harness.event(Event::Text(text.to_owned()));
        self.step();
    }

    /// Chooses an answer from the list of this name.
    #[track_caller]
    pub fn choose(&mut self, list: &str, answer: &str) {
        self.click(list);
        let options = |node: &Node<'_>| {
            words_of(node).as_deref() == Some(answer) && node.accesskit_node().role() != Role::ComboBox
        };
        let found = self.harness.root().children_recursive().filter(options).last();
        found.unwrap_or_else(|| panic!("no \"{answer}\" in \"{list}\": {:#?}", self.words())).click();
        self.settle();
    }

    /// Drops a file or folder on the window.
    pub fn drop_on(&mut self, path: &Path) {
        self.harness.input_mut().dropped_files.push(Arc::new(Dropped(path.to_owned())));
        self.settle();
    }

    /// Holds something over the window as if to drop it, or no longer.
    pub fn hover_with_file(&mut self, is_held: bool) {
        self.harness.input_mut().hovered_files = is_held.then(egui::HoveredFile::default).into_iter().collect();
        self.settle();
    }

    /// Presses a key.
    pub fn press(&mut self, modifiers: Modifiers, key: Key) {
        self.harness.key_press_modifiers(modifiers, key);
        self.settle();
    }

    /// Presses a plain key, with the text that it types.
    pub fn press_text(&mut self, key: Key, text: &str) {
        let press =
            |pressed| Event::Key { key, physical_key: None, pressed, repeat: false, modifiers: Modifiers::NONE };
        // The platform sends both before the next frame.
        self.harness.input_mut().events.extend([press(true), Event::Text(text.to_owned())]);
        self.step();
        self.harness.event(press(false));
        self.settle();
    }

    /// What has this name: a field for text before another control, and that before a text.
    fn find(&self, name: &str) -> Option<Node<'_>> {
        let rank = |node: &Node<'_>| match node.accesskit_node().role() {
            Role::TextInput | Role::MultilineTextInput => 0,
            Role::Row | Role::Link | Role::ColumnHeader => 1,
            role if egui::accessibility::is_input(role) => 1,
            _ => 2,
        };
        let all = self.harness.root().children_recursive();
        all.filter(|node| words_of(node).as_deref() == Some(name)).min_by_key(rank)
    }

    #[track_caller]
    fn get(&self, name: &str) -> Node<'_> {
        self.find(name).unwrap_or_else(|| panic!("nothing is called \"{name}\". On the screen: {:#?}", self.words()))
    }
}

fn words_of(node: &Node<'_>) -> Option<String> {
    let node = node.accesskit_node();
    node.label().or_else(|| node.value()).filter(|words| !words.is_empty())
}
