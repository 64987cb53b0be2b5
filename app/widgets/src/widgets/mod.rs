//! Reusable drawings and controls. They know nothing of the engine: plain slices and small structs go in, what the user
//! did comes out. Colours and sizes come from [`crate::theme`].

mod chart;
mod chart_options;
mod field;
mod head_map;
mod heat_map;
mod height;
mod marked;
mod multiples;
mod name;
mod number;
mod parallel;
mod seen;
mod sideways;
mod squares;
mod swatch;
mod table;
mod thumbnails;
mod together;
mod tooltip;

pub use chart::{
    Band, Chart, ChartLine, ChartResponse, ChartState, ChartView, FEWEST_SMOOTHED, LegendEntry, SharedX, ViewLine,
    legend_ui,
};
pub use chart_options::ChartOptions;
pub use field::{Field, FieldResponse, mark_invalid};
pub use head_map::{
    HeadCell, HeadEdit, HeadGrid, HeadLayout, HeadMap, HeadMapResponse, HeadMarks, HeadSpot, group_letters,
};
pub use heat_map::{HeatLine, HeatMap, HeatResponse, HeatState};
pub use height::{HeightHandle, SpareHeight};
pub use marked::{entered, focus_when_opened, moved_by_arrows};
pub use multiples::{MOST_ACROSS, Multiples, Tile, TileWish};
pub use name::{beginning, brief, elided, name_ui, name_width, text_width};
pub use number::{number_ui, slider_ui};
pub use parallel::{Parallel, ParallelAxis, ParallelLine, ParallelResponse, ParallelScale, ParallelState};
pub use seen::is_new;
pub use sideways::sideways_ui;
pub use squares::{Squares, SquaresResponse};
pub use swatch::swatch_ui;
pub use table::{Column, SortKey, Sorting, Table, TableResponse, TableState, sort_rows, without_room};
pub use thumbnails::{Thumbnail, Thumbnails};
pub use together::together_ui;
pub use tooltip::{tooltip_above, tooltip_beside};
