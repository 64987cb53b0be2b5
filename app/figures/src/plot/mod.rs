//! What charts and maps are made of, before anything is drawn: axes and their ticks, points and pyramids of them,
//! smoothing, the values of heat maps and the colours of values. Plain data, shared by the window and by exported figures.

mod axis;
mod curve_x;
mod heat_axis;
mod heat_data;
mod pyramid;
mod quantity;
mod series;
mod smooth;
mod ticks;
mod tone;

pub use axis::{Axis, Scale, XAxis};
pub use curve_x::{CurveBase, CurveX};
pub use heat_axis::HeatAxis;
pub use heat_data::{Extent, HeatData};
pub use pyramid::Pyramid;
pub use quantity::Quantity;
pub use series::{Series, Version};
pub use smooth::{DEFAULT_SMOOTHING, MAX_SMOOTHING, Smoother, smooth};
pub use ticks::Tick;
pub use tone::{HeatScale, Tone};
