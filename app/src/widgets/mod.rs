//! Reusable drawings and controls. They know nothing of the engine: plain slices and small structs go in, what the user
//! did comes out. Colours and sizes come from [`crate::theme`].

mod axis;
mod chart;
mod chart_options;
mod dash;
mod field;
pub mod format;
mod head_map;
mod heat_map;
mod name;
mod parallel;
mod pyramid;
mod series;
mod smooth;
mod swatch;
mod table;
mod table_text;
mod ticks;

pub use axis::{Axis, Quantity, Scale, XAxis};
pub use chart::{Band, Chart, ChartLine, ChartResponse, ChartState, FEWEST_SMOOTHED, SharedX};
pub use chart_options::ChartOptions;
pub use dash::Dash;
pub use field::{Field, FieldResponse};
pub use head_map::{
    HeadCell, HeadEdit, HeadGrid, HeadLayout, HeadMap, HeadMapResponse, HeadMarks, HeadSpot, group_letters,
};
pub use heat_map::{Extent, HeatAxis, HeatData, HeatMap, HeatResponse, HeatScale, HeatState, Tone};
pub use name::name_ui;
pub use parallel::{Parallel, ParallelAxis, ParallelLine, ParallelResponse, ParallelScale, ParallelState};
pub use pyramid::Pyramid;
pub use series::{Series, Version};
pub use smooth::{DEFAULT_SMOOTHING, MAX_SMOOTHING, Smoother, smooth};
pub use swatch::swatch_ui;
pub use table::{Column, SortKey, Sorting, Table, TableResponse, TableState, sort_rows, without_room};
pub use table_text::{rows_to_csv, rows_to_latex, rows_to_markdown};
pub use ticks::Tick;
