//! Drives a panel by the names of its controls, for tests: what a screen reader is told is what is clicked.

use std::{sync::Arc, time::Duration};

use egui::{Event, Key, Modifiers, PointerButton, Pos2, RawInput, Rect, Vec2, accesskit::Node, pos2, vec2};

use crate::{
    context::{Action, Panel, PanelContext},
    file_dialogs::FileDialogs,
    settings::Settings,
    state::State,
    theme,
};

/// A window without a screen.
pub struct Driver {
    /// What the panel shows.
    pub state: State,
    /// What it remembers.
    pub settings: Settings,
    /// What it wanted done.
    pub actions: Vec<Action>,
    /// Keys that are held down.
    pub modifiers: Modifiers,
    /// Of the window, in points.
    pub size: Vec2,
    /// Those that the last frame was told of.
    held: Modifiers,
    dialogs: FileDialogs,
    ctx: egui::Context,
    nodes: Vec<Node>,
    frames: u32,
    repaint: Duration,
}

impl Driver {
    /// A window on a state.
    pub fn new(state: State) -> Self {
        let ctx = egui::Context::default();
        ctx.enable_accesskit();
        theme::install(&ctx);
        Self {
            state,
            settings: Settings::default(),
            actions: Vec::new(),
            modifiers: Modifiers::NONE,
            size: vec2(1600.0, 1400.0),
            held: Modifiers::NONE,
            dialogs: FileDialogs::new(Arc::new(|| ())),
            ctx,
            nodes: Vec::new(),
            frames: 0,
            repaint: Duration::ZERO,
        }
    }

    /// A frame with these events.
    pub fn frame(&mut self, panel: &mut dyn Panel, events: Vec<Event>) {
        self.frames += 1;
        self.state.begin_frame(&self.settings);
        self.dialogs.drain();
        let changed = (self.held != self.modifiers).then_some(Event::ModifiersChanged(self.modifiers));
        self.held = self.modifiers;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, self.size)),
            time: Some(f64::from(self.frames) * 0.5),
            focused: true,
            events: changed.into_iter().chain(events).collect(),
            ..RawInput::default()
        };
        let (state, settings, dialogs, actions) =
            (&mut self.state, &mut self.settings, &mut self.dialogs, &mut self.actions);
        let mut output = self.ctx.clone().run_ui(input, |ui| {
            let mut cx = PanelContext { state, settings, dialogs, actions };
            egui::CentralPanel::default().show(ui, |ui| panel.ui(ui, &mut cx));
        });
        // Nothing is painted here.
        output.textures_delta.clear();
        self.repaint =
            output.viewport_output.values().map(|viewport| viewport.repaint_delay).min().unwrap_or(Duration::MAX);
        let update = output.platform_output.accesskit_update.expect("the tree is made");
        self.nodes = update.nodes.into_iter().map(|(_, node)| node).collect();
        if let Some(problem) = self.nameless() {
            panic!("a control has no name: {problem:?}");
        }
    }

    /// A few frames, until popups have their size.
    pub fn settle(&mut self, panel: &mut dyn Panel) {
        for _ in 0..3 {
            self.frame(panel, Vec::new());
        }
    }

    /// Whether the last frame asked for no other soon: an idle window must cost nothing.
    pub fn rests(&self) -> bool {
        self.repaint > Duration::from_secs(1)
    }

    /// Every name in the tree.
    pub fn names(&self) -> Vec<String> {
        self.nodes.iter().filter_map(name).collect()
    }

    /// What follows `prefix` in the names that begin with it, line by line from the top.
    pub fn in_order(&self, prefix: &str) -> Vec<String> {
        let mut found: Vec<(i64, i64, String)> = Vec::new();
        for node in &self.nodes {
            if let (Some(name), Some(bounds)) = (name(node), node.bounds())
                && let Some(rest) = name.strip_prefix(prefix)
            {
                found.push((bounds.y0 as i64, bounds.x0 as i64, rest.to_owned()));
            }
        }
        found.sort();
        found.into_iter().map(|(_, _, rest)| rest).collect()
    }

    /// Whether something has this name.
    pub fn has(&self, wanted: &str) -> bool {
        self.nodes.iter().any(|node| name(node).as_deref() == Some(wanted))
    }

    /// Whether some name holds this.
    pub fn says(&self, wanted: &str) -> bool {
        self.names().iter().any(|name| name.contains(wanted))
    }

    /// Clicks what has this name.
    pub fn click(&mut self, panel: &mut dyn Panel, wanted: &str) {
        self.click_with(panel, wanted, PointerButton::Primary, 1);
    }

    /// Clicks with a button, so often.
    pub fn click_with(&mut self, panel: &mut dyn Panel, wanted: &str, button: PointerButton, times: usize) {
        let at = self.place(wanted);
        self.frame(panel, vec![Event::PointerMoved(at)]);
        let modifiers = self.modifiers;
        let press = |pressed| Event::PointerButton { pos: at, button, pressed, modifiers };
        let mut events = Vec::new();
        for _ in 0..times {
            events.extend([press(true), press(false)]);
        }
        self.frame(panel, events);
        self.settle(panel);
    }

    /// Drags what has one name to the place of what has another; `share` of its width from the left.
    pub fn drag(&mut self, panel: &mut dyn Panel, from: &str, to: &str, share: f32) {
        let (start, end) = (self.place(from), self.bounds(to));
        let end = pos2(end.left() + share * end.width(), end.center().y);
        let modifiers = self.modifiers;
        let press = |pos, pressed| Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers };
        self.frame(panel, vec![Event::PointerMoved(start)]);
        self.frame(panel, vec![press(start, true)]);
        for share in [0.3, 0.7, 1.0] {
            self.frame(panel, vec![Event::PointerMoved(start + (end - start) * share)]);
        }
        self.frame(panel, vec![press(end, false)]);
        self.settle(panel);
    }

    /// Asks the panel to close what is open or to free what is held, as Esc does in the window.
    pub fn back(&mut self, panel: &mut dyn Panel) -> bool {
        let (state, settings, dialogs, actions) =
            (&mut self.state, &mut self.settings, &mut self.dialogs, &mut self.actions);
        let is_taken = panel.back(&mut PanelContext { state, settings, dialogs, actions });
        self.settle(panel);
        is_taken
    }

    /// Presses a key.
    pub fn key(&mut self, panel: &mut dyn Panel, key: Key) {
        let modifiers = self.modifiers;
        let press = |pressed| Event::Key { key, physical_key: None, pressed, repeat: false, modifiers };
        self.frame(panel, vec![press(true)]);
        self.frame(panel, vec![press(false)]);
        self.settle(panel);
    }

    /// Types into the field of this name.
    pub fn type_into(&mut self, panel: &mut dyn Panel, field: &str, text: &str) {
        self.click(panel, field);
        self.frame(panel, vec![Event::Text(text.to_owned())]);
        self.settle(panel);
    }

    /// Where a control begins from above, in points.
    pub fn top(&self, wanted: &str) -> f32 {
        self.bounds(wanted).top()
    }

    /// Where the middle of a control is, in points.
    pub fn place(&self, wanted: &str) -> Pos2 {
        let bounds = self.bounds(wanted);
        let is_row = |node: &Node| node.role() == egui::Role::Row && name(node).as_deref() == Some(wanted);
        // Of a row the name: its middle may hold something else that is clicked.
        if self.nodes.iter().any(is_row) { bounds.left_center() + vec2(130.0, 0.0) } else { bounds.center() }
    }

    fn bounds(&self, wanted: &str) -> Rect {
        let found = || self.nodes.iter().filter(|node| name(node).as_deref() == Some(wanted));
        // A control rather than the label beside it of the same words.
        let mut controls = found().filter(|node| !matches!(node.role(), egui::Role::Label | egui::Role::TextRun));
        let bounds = controls.find_map(Node::bounds).or_else(|| found().find_map(Node::bounds));
        let bounds = bounds.unwrap_or_else(|| panic!("nothing is called {wanted:?} in {:#?}", self.names()));
        Rect::from_min_max(pos2(bounds.x0 as f32, bounds.y0 as f32), pos2(bounds.x1 as f32, bounds.y1 as f32))
    }

    /// A control that a screen reader could not name.
    fn nameless(&self) -> Option<&Node> {
        use egui::Role;
        let control = |node: &&Node| {
            matches!(
                node.role(),
                Role::Button
                    | Role::CheckBox
                    | Role::ComboBox
                    | Role::RadioButton
                    | Role::Slider
                    | Role::SpinButton
                    | Role::TextInput
            )
        };
        let named = |node: &Node| node.label().is_some_and(|label| !label.is_empty()) || !node.labelled_by().is_empty();
        self.nodes.iter().filter(control).find(|node| !named(node))
    }
}

fn name(node: &Node) -> Option<String> {
    let text = node.label().or_else(|| node.value())?;
    Some(text.to_owned())
}
