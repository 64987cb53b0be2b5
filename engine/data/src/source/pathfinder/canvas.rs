//! What is occupied of an image, and the image itself, at twice its size.

/// The image is drawn at so many times its size.
const SCALE: usize = 2;

/// Samples to each side of a pixel that its brightness is made of: three lobes of the filter.
const REACH: i64 = 3 * SCALE as i64;

/// The pixels that are taken.
#[derive(Clone, Debug)]
pub(super) struct Mask {
    size: usize,
    /// How many lines take each pixel; the edge is always taken. `[size, size]`
    takers: Vec<u16>,
}

impl Mask {
    /// An empty image but for its edge.
    pub(super) fn new(size: usize, padding: f64) -> Self {
        let is_edge = |at: usize| (at as f64) < padding || at as f64 >= size as f64 - padding;
        let takers = (0..size * size).map(|at| u16::from(is_edge(at % size) || is_edge(at / size))).collect();
        Self { size, takers }
    }

    /// Whether a place is inside and free.
    pub(super) fn is_free(&self, [x, y]: Point) -> bool {
        if x < 0.0 || y < 0.0 {
            return false;
        }
        let (x, y) = (x as usize, y as usize);
        x < self.size && y < self.size && self.takers[y * self.size + x] == 0
    }

    /// Share of the pixels that are free.
    pub(super) fn free_share(&self) -> f64 {
        self.takers.iter().filter(|takers| **takers == 0).count() as f64 / self.takers.len().max(1) as f64
    }

    /// Whether a line with its surroundings of a radius meets what is taken, or leaves the image.
    pub(super) fn meets(&self, line: [Point; 2], radius: f64) -> bool {
        if line.iter().any(|end| !self.is_free(*end)) {
            return true;
        }
        let mut meets = false;
        near(self.size, line, radius, |at| meets |= self.takers[at] > 0);
        meets
    }

    /// Takes a line with its surroundings.
    pub(super) fn occupy(&mut self, line: [Point; 2], radius: f64) {
        self.change(line, radius, |takers| takers.saturating_add(1));
    }

    /// Gives back what [`Self::occupy`] took for a line.
    pub(super) fn release(&mut self, line: [Point; 2], radius: f64) {
        self.change(line, radius, |takers| takers.saturating_sub(1));
    }

    fn change(&mut self, line: [Point; 2], radius: f64, by: impl Fn(u16) -> u16) {
        let Self { size, takers } = self;
        near(*size, line, radius, |at| takers[at] = by(takers[at]));
    }
}

/// Calls `each` with every pixel whose middle is within `radius` of a line.
fn near(size: usize, [from, to]: [Point; 2], radius: f64, mut each: impl FnMut(usize)) {
    let range = |axis: usize| {
        let (low, high) = (from[axis].min(to[axis]) - radius, from[axis].max(to[axis]) + radius);
        (low.floor().max(0.0) as usize)..(high.ceil().max(0.0) as usize).min(size)
    };
    let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    let square = (dx * dx + dy * dy).max(1e-12);
    for y in range(1) {
        for x in range(0) {
            let [px, py] = [x as f64 + 0.5 - from[0], y as f64 + 0.5 - from[1]];
            let along = ((px * dx + py * dy) / square).clamp(0.0, 1.0);
            if (px - along * dx).hypot(py - along * dy) <= radius {
                each(y * size + x);
            }
        }
    }
}

/// An image at twice its size.
pub(super) struct Canvas {
    size: usize,
    /// Brightness, 1 = white. `[SCALE size, SCALE size]`
    light: Vec<f64>,
}

impl Canvas {
    /// A black image.
    pub(super) fn new(size: usize) -> Self {
        Self { size, light: vec![0.0; (SCALE * size).pow(2)] }
    }

    /// A line; of what is drawn over each other the brightest is seen.
    pub(super) fn line(&mut self, line: [Point; 2], thickness: f64, light: f64) {
        let scale = SCALE as f64;
        // A line is one sample thick at least.
        let radius = (thickness * scale / 2.0).max(0.5);
        self.draw(line.map(|end| end.map(|number| number * scale)), radius, light);
    }

    /// A white disc.
    pub(super) fn disc(&mut self, middle: Point, radius: f64) {
        let scale = SCALE as f64;
        let middle = middle.map(|number| number * scale);
        self.draw([middle; 2], radius * scale, 1.0);
    }

    fn draw(&mut self, line: [Point; 2], radius: f64, light: f64) {
        let all = &mut self.light;
        near(SCALE * self.size, line, radius, |at| all[at] = all[at].max(light));
    }

    /// The image at its size, reduced with Lanczos's filter of three lobes along columns, then along rows. `[size, size]`
    pub(super) fn reduced(&self) -> Vec<u8> {
        let (size, wide) = (self.size, SCALE * self.size);
        let taps = taps();
        let sum = |pixel: usize, sample: &dyn Fn(usize) -> f64| -> f64 {
            let first = (SCALE * pixel + SCALE / 2) as i64 - REACH;
            let (mut light, mut weights) = (0.0, 0.0);
            for (at, weight) in (first..).zip(taps) {
                if let Some(at) = usize::try_from(at).ok().filter(|at| *at < wide) {
                    light += weight * sample(at);
                    weights += weight;
                }
            }
            light / weights
        };
        let light = |at: usize| sum(at / wide, &|y| self.light[y * wide + at % wide]);
        let rows: Vec<f64> = (0..size * wide).map(light).collect(); // [size, wide]
        let pixel = |at: usize| {
            let light = sum(at % size, &|x| rows[at / size * wide + x]);
            (light.clamp(0.0, 1.0) * 255.0).round() as u8
        };
        (0..size * size).map(pixel).collect()
    }
}

/// Weights of the samples around a pixel.
fn taps() -> [f64; 2 * REACH as usize] {
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x) };
    std::array::from_fn(|tap| {
        let x = (tap as f64 + 0.5 - REACH as f64) / SCALE as f64;
        sinc(x) * sinc(x / 3.0)
    })
}

/// A place in pixels, `[x, y]`.
pub(super) type Point = [f64; 2];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_image_stays_even() {
        let canvas = Canvas { size: 8, light: vec![0.5; 256] };
        assert!(canvas.reduced().iter().all(|pixel| *pixel == 128));
    }

    #[test]
    fn a_line_occupies_what_is_near_it() {
        let mut mask = Mask::new(16, 1.0);
        assert!(!mask.is_free([0.5, 8.0]) && mask.is_free([1.5, 8.0]) && !mask.is_free([15.2, 8.0]));
        let line = [[4.0, 8.0], [10.0, 8.0]];
        assert!(!mask.meets(line, 0.6));
        mask.occupy(line, 1.6);
        assert!(mask.meets([[7.0, 4.0], [7.0, 12.0]], 0.5) && !mask.meets([[4.0, 11.0], [10.0, 11.0]], 0.5));
        assert!(mask.meets([[12.0, 4.0], [18.0, 4.0]], 0.5), "it leaves the image");
        let free = mask.free_share();
        mask.occupy([[7.0, 4.0], [7.0, 12.0]], 1.6);
        mask.release([[7.0, 4.0], [7.0, 12.0]], 1.6);
        assert!(mask.meets(line, 0.6) && (mask.free_share() - free).abs() < 1e-12, "the other line is still there");
    }
}
