//! The line chart of runs. Give it borrowed lines and it does the rest: smoothing at full resolution, decimation that
//! loses nothing visible, log axes, zoom and pan, linked x ranges, linked hover, a tooltip, a legend, and the
//! [`crate::export::Figure`] of what it shows.
//!
//! The mouse: drag zooms to a box, double click resets, Shift-drag pans, Ctrl-wheel zooms, Alt-wheel zooms along x.
//! The keyboard, when the chart has focus: arrows pan, `+` and `-` zoom, Home resets.

mod curve;
mod drawn;
mod figure;
mod hover;
mod keys;
mod legend;
mod line;
mod line_cache;
mod marks;
mod mesh;
mod navigate;
mod paint;
mod plot;
mod scene;
mod state;
mod view;

pub use legend::{LegendEntry, legend_ui};
pub use line::{Band, ChartLine, FEWEST_SMOOTHED};
pub use plot::{Chart, ChartResponse};
pub use state::{ChartState, SharedX};
pub use view::{ChartView, ViewLine};
