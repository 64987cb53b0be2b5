//! Pathfinder (Linsley et al. 2018, "Learning long-range spatial dependencies with horizontal gated recurrent units"; as a task
//! of the Long Range Arena: Tay et al. 2021): two long dashed curves, shorter ones, and two discs, on the ends of one long curve
//! or of both.
//!
//! Written from a description of how such images are made; no image is that of another generator. A stroke stands on a pivot:
//! from `margin` to `margin + stroke` pixels away from it, in one direction; the next pivot lies `margin` behind its end.

use std::path::Path;

use rayon::prelude::*;

use super::loader::{Content, DataSource, Examples, KnownModel, LoadContext};
use crate::ImageError;
use crate::config::{DataConfig, ImageShape, PathfinderSource};
use crate::images::{ImageCorpus, ImagesPreview, PreviewImage, SHOWN, classes_of, require_shape};
use crate::objective::{Labels, Objective};
use crate::preview::DataPreview;
use crate::progress::advance;
use crate::rng::{Purpose, Stream, below};
use crate::{DataError, Progress, Reading, Stage};

mod canvas;

use canvas::{Canvas, Mask, Point};

/// How often two curves are begun before there is no place for them.
const RESTARTS: usize = 50_000;

/// How often a stroke, or a shorter curve, is tried again.
const RETRIES: usize = 3;
const CURVE_RETRIES: usize = 4;

/// No more shorter curves are placed where less than this share of the image is free.
const LEAST_FREE: f64 = 0.01;

/// Images between two reports.
const GROUP: usize = 1024;

/// What images of a size are made with; lengths in pixels.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    size: usize,
    padding: f64,
    margins: &'static [f64],
    seed_distance: f64,
    disc_radius: f64,
    stroke: f64,
    thickness: f64,
    /// The greater, the straighter.
    continuity: f64,
    /// Strokes of all shorter curves together, about.
    distractor_strokes: usize,
    /// Brightness of the shorter curves, and of the long ones beside them.
    brightness: f64,
    long_brightness: f64,
}

impl Parameters {
    /// Those of the Long Range Arena. Another size has none; a config was checked.
    fn of(size: usize) -> Self {
        let of_32 = Self {
            size,
            padding: 1.0,
            margins: &[1.0],
            seed_distance: 7.0,
            disc_radius: 1.5,
            stroke: 2.0,
            thickness: 0.5,
            continuity: 1.0,
            distractor_strokes: 20,
            brightness: 2.0,
            long_brightness: 0.75,
        };
        let larger = Self { stroke: 5.0, continuity: 1.8, long_brightness: 1.0, ..of_32 };
        match size {
            64 => Self {
                seed_distance: 12.0,
                disc_radius: 2.5,
                thickness: 1.0,
                distractor_strokes: 22,
                brightness: 0.8,
                ..larger
            },
            128 => Self {
                margins: &[2.0, 3.0],
                seed_distance: 20.0,
                disc_radius: 3.0,
                thickness: 1.5,
                distractor_strokes: 35,
                brightness: 0.9,
                ..larger
            },
            256 => Self {
                padding: 22.0,
                margins: &[3.0],
                seed_distance: 27.0,
                disc_radius: 5.0,
                thickness: 2.0,
                distractor_strokes: 30,
                brightness: 1.0,
                ..larger
            },
            _ => of_32,
        }
    }
}

/// One dash of a curve.
#[derive(Clone, Copy, Debug)]
struct Stroke {
    pivot: Point,
    /// Radians.
    direction: f64,
}

impl Stroke {
    fn at(&self, distance: f64) -> Point {
        let (sine, cosine) = self.direction.sin_cos();
        [self.pivot[0] + distance * cosine, self.pivot[1] + distance * sine]
    }
}

/// An image with what is drawn in it.
#[derive(Clone, Debug)]
struct Picture {
    /// `[size, size]`
    pixels: Vec<u8>,
    /// Whether the discs lie on the ends of one curve.
    is_connected: bool,
    /// The two long curves.
    #[cfg_attr(not(test), expect(dead_code, reason = "what tests compare the label with"))]
    curves: [Vec<Stroke>; 2],
    /// The middles of the discs.
    #[cfg_attr(not(test), expect(dead_code, reason = "what tests compare the label with"))]
    discs: [Point; 2],
}

/// The state of the drawing of one image.
struct Artist {
    parameters: Parameters,
    margin: f64,
    stream: Stream,
}

impl Artist {
    fn ends(&self, stroke: &Stroke) -> [Point; 2] {
        [stroke.at(self.margin), stroke.at(self.margin + self.parameters.stroke)]
    }

    /// What a stroke itself covers, and what it keeps free around it.
    fn radii(&self) -> [f64; 2] {
        let own = (self.parameters.thickness / 2.0).max(0.5);
        [own, self.parameters.thickness / 2.0 + self.margin]
    }

    fn meets(&self, mask: &Mask, stroke: &Stroke) -> bool {
        mask.meets(self.ends(stroke), self.radii()[0])
    }

    fn occupy(&self, mask: &mut Mask, stroke: &Stroke) {
        mask.occupy(self.ends(stroke), self.radii()[1]);
    }

    fn release(&self, mask: &mut Mask, stroke: &Stroke) {
        mask.release(self.ends(stroke), self.radii()[1]);
    }

    /// Lets a curve grow by a stroke among what is there; none where it finds no place. The last stroke is not in the way of the
    /// one that follows it.
    fn grow(&mut self, mask: &mut Mask, curve: &mut Vec<Stroke>) -> Option<()> {
        let last = *curve.last()?;
        self.release(mask, &last);
        let next = self.next(mask, &last);
        self.occupy(mask, &last);
        let next = next?;
        self.occupy(mask, &next);
        curve.push(next);
        Some(())
    }

    /// A direction in whole degrees.
    fn any_direction(&mut self) -> f64 {
        (below(&mut self.stream, 360) as f64).to_radians()
    }

    /// The next stroke of a curve, where one finds place; `mask` does not hold the last one.
    fn next(&mut self, mask: &Mask, last: &Stroke) -> Option<Stroke> {
        let Parameters { stroke, continuity, .. } = self.parameters;
        let pivot = last.at(stroke + 2.0 * self.margin);
        let candidates = circle(pivot, stroke + self.margin);
        let weights: Vec<f64> = candidates
            .iter()
            .map(|[x, y]| {
                let direction = (y - pivot[1]).atan2(x - pivot[0]);
                let turn = (direction - last.direction + std::f64::consts::PI).rem_euclid(std::f64::consts::TAU)
                    - std::f64::consts::PI;
                let straight = (continuity * turn.abs()).min(std::f64::consts::FRAC_PI_2).cos().powi(2);
                if mask.is_free([*x, *y]) { straight } else { 0.0 }
            })
            .collect();
        let sum: f64 = weights.iter().sum();
        // The cosine of a right angle is not quite zero.
        if sum < 1e-9 {
            return None;
        }
        for _ in 0..=RETRIES {
            let mut place = self.stream.uniform() * sum;
            let chosen = candidates.iter().zip(&weights).find(|(_, weight)| {
                place -= **weight;
                place < 0.0
            });
            let Some(([x, y], _)) = chosen else { continue };
            let stroke = Stroke { pivot, direction: (y - pivot[1]).atan2(x - pivot[0]) };
            if !self.meets(mask, &stroke) {
                return Some(stroke);
            }
        }
        None
    }

    /// Two curves that grow in turns; none where one of them finds no place.
    fn two_curves(&mut self, length: usize) -> Option<([Vec<Stroke>; 2], Mask)> {
        let Parameters { size, padding, seed_distance, .. } = self.parameters;
        let mut mask = Mask::new(size, padding);
        let within = size as f64 - 4.0 * seed_distance;
        let coordinate = |artist: &mut Self| 2.0 * seed_distance + artist.stream.uniform() * within.max(0.0);
        let first = [coordinate(self), coordinate(self)];
        let away = self.stream.uniform() * std::f64::consts::TAU;
        let second = [first[0] + seed_distance * away.cos(), first[1] + seed_distance * away.sin()];
        let mut curves: [Vec<Stroke>; 2] = [Vec::new(), Vec::new()];
        for (curve, pivot) in curves.iter_mut().zip([first, second]) {
            let stroke = Stroke { pivot, direction: self.any_direction() };
            if self.meets(&mask, &stroke) {
                return None;
            }
            self.occupy(&mut mask, &stroke);
            curve.push(stroke);
        }
        for _ in 1..length {
            for curve in &mut curves {
                self.grow(&mut mask, curve)?;
            }
        }
        Some((curves, mask))
    }

    /// A shorter curve among what is there, which takes its place; none, and no place taken, where it finds none.
    fn short_curve(&mut self, mask: &mut Mask, length: usize) -> Option<Vec<Stroke>> {
        let size = self.parameters.size;
        let pivot = [0; 2].map(|_: i32| self.stream.uniform() * size as f64);
        let first = Stroke { pivot, direction: self.any_direction() };
        if !mask.is_free(pivot) || self.meets(mask, &first) {
            return None;
        }
        self.occupy(mask, &first);
        let mut curve = vec![first];
        while curve.len() < length {
            if self.grow(mask, &mut curve).is_none() {
                for stroke in &curve {
                    self.release(mask, stroke);
                }
                return None;
            }
        }
        Some(curve)
    }

    fn short_curves(&mut self, mask: &mut Mask, length: usize) -> Vec<Stroke> {
        let mut all = Vec::new();
        for _ in 0..self.parameters.distractor_strokes / length.max(1) {
            if mask.free_share() < LEAST_FREE {
                break;
            }
            let found = (0..=CURVE_RETRIES).find_map(|_| self.short_curve(mask, length));
            all.extend(found.into_iter().flatten());
        }
        all
    }
}

/// The pixels of a circle, each once, in the order of their angles.
fn circle(middle: Point, radius: f64) -> Vec<Point> {
    let steps = (std::f64::consts::TAU * radius * 4.0).ceil() as usize;
    let mut pixels: Vec<Point> = (0..steps)
        .map(|step| {
            let angle = std::f64::consts::TAU * step as f64 / steps as f64;
            [middle[0] + radius * angle.cos(), middle[1] + radius * angle.sin()].map(|number| number.floor() + 0.5)
        })
        .collect();
    pixels.dedup();
    if pixels.len() > 1 && pixels.first() == pixels.last() {
        pixels.pop();
    }
    pixels
}

/// The image of a number: a function of seed, part and number alone.
fn picture(source: &PathfinderSource, part: u64, number: u64) -> Result<Picture, ImageError> {
    let parameters = Parameters::of(source.size);
    let mut stream = Stream::new(source.images_seed, Purpose::Pathfinder, (part << 32) | number);
    let margin = parameters.margins[below(&mut stream, parameters.margins.len())];
    let is_connected = stream.uniform() < 0.5;
    let mut artist = Artist { parameters, margin, stream };
    let found = (0..RESTARTS).find_map(|_| artist.two_curves(source.contour_length));
    let Some((curves, mut mask)) = found else {
        return Err(ImageError::NoPlace { contour_length: source.contour_length, size: source.size });
    };
    let short = artist.short_curves(&mut mask, source.contour_length / 3);
    let first = below(&mut artist.stream, 2);
    let other = if is_connected { first } else { 1 - first };
    let start = |curve: &[Stroke]| curve.first().map(|stroke| artist.ends(stroke)[0]).unwrap_or_default();
    let end = |curve: &[Stroke]| curve.last().map(|stroke| artist.ends(stroke)[1]).unwrap_or_default();
    let discs = [start(&curves[first]), end(&curves[other])];
    let mut canvas = Canvas::new(parameters.size);
    let Parameters { thickness, brightness, long_brightness, disc_radius, .. } = parameters;
    for (strokes, light) in [
        (short.as_slice(), brightness),
        (curves[0].as_slice(), brightness * long_brightness),
        (curves[1].as_slice(), brightness * long_brightness),
    ] {
        for stroke in strokes {
            canvas.line(artist.ends(stroke), thickness, light);
        }
    }
    for middle in discs {
        canvas.disc(middle, disc_radius);
    }
    Ok(Picture { pixels: canvas.reduced(), is_connected, curves, discs })
}

impl DataSource for PathfinderSource {
    fn split(&self, _: f64, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let [train, validation] = generate(self, context.progress)?;
        let images = ImageCorpus::of_training(shape(self), train.pixels, validation.pixels);
        Ok(Content::Images(images, classes_of(labels(), train.classes, validation.classes)).into())
    }

    fn all(&self, model: KnownModel<'_>, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let [_, drawn] = generate(self, context.progress)?;
        let (Some((wanted, normalisation)), Some(labels)) = (model.images, model.labels) else {
            return Err(DataError::NoImages);
        };
        require_shape(shape(self), Some(wanted), Path::new(""))?;
        let images = ImageCorpus::held_out(wanted, normalisation.clone(), drawn.pixels);
        Ok(Content::Images(images, classes_of(labels.clone(), Vec::new(), drawn.classes)).into())
    }

    fn labels(&self, _: LoadContext<'_>) -> Result<Option<Labels>, DataError> {
        Ok(Some(labels()))
    }

    fn preview(&self, _: &DataConfig, _: (&Objective, &Reading)) -> Result<Option<DataPreview>, DataError> {
        let shape = shape(self);
        let names = ["not connected", "connected"];
        let examples = first_ones(self, SHOWN / 2)?.into_iter().map(|(is_connected, pixels)| {
            PreviewImage::new(names[usize::from(is_connected)].to_owned(), shape, &pixels)
        });
        let examples = examples.collect();
        let (classes, empty_folders) = (Vec::new(), Vec::new());
        let images = self.examples as u64;
        Ok(Some(DataPreview::Images(ImagesPreview { shape, images, classes, examples, empty_folders })))
    }
}

fn shape(source: &PathfinderSource) -> ImageShape {
    ImageShape { size: source.size, channels: 1 }
}

/// Images of a part with their classes.
struct Drawn {
    /// `[images, 1, size, size]`
    pixels: Vec<u8>,
    /// `[images]`
    classes: Vec<u32>,
}

/// Returns true if the discs are connected.
fn labels() -> Labels {
    Labels::Classes(["0", "1"].map(str::to_owned).to_vec())
}

/// The first images to train on, each with whether its discs lie on one curve.
fn first_ones(source: &PathfinderSource, count: usize) -> Result<Vec<(bool, Vec<u8>)>, DataError> {
    let one = |number| picture(source, 0, number).map(|picture| (picture.is_connected, picture.pixels));
    Ok((0..count as u64).map(one).collect::<Result<_, _>>()?)
}

/// Images to train on and held-out ones.
fn generate(source: &PathfinderSource, progress: &dyn Progress) -> Result<[Drawn; 2], DataError> {
    let total = (source.examples + source.validation_examples) as u64;
    let mut done = 0;
    let mut part = |part: u64, count: usize| -> Result<Drawn, DataError> {
        let mut drawn = Drawn { pixels: Vec::with_capacity(count * source.size * source.size), classes: Vec::new() };
        let numbers: Vec<u64> = (0..count as u64).collect();
        for group in numbers.chunks(GROUP) {
            let pictures: Vec<Picture> =
                group.par_iter().map(|number| picture(source, part, *number)).collect::<Result<_, _>>()?;
            for picture in pictures {
                drawn.pixels.extend(picture.pixels);
                drawn.classes.push(u32::from(picture.is_connected));
            }
            done += group.len() as u64;
            advance(progress, Stage::Generating, done, total)?;
        }
        Ok(drawn)
    };
    Ok([part(0, source.examples)?, part(1, source.validation_examples)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;

    fn source(size: usize, contour_length: usize) -> PathfinderSource {
        PathfinderSource { size, contour_length, examples: 400, validation_examples: 40, images_seed: 3 }
    }

    fn brightness(picture: &Picture, size: usize, [x, y]: Point, radius: f64) -> f64 {
        let near = |at: usize| [(at % size) as f64 + 0.5 - x, (at / size) as f64 + 0.5 - y];
        let inside: Vec<f64> = picture
            .pixels
            .iter()
            .enumerate()
            .filter(|(at, _)| near(*at).iter().map(|d| d * d).sum::<f64>() <= radius * radius)
            .map(|(_, pixel)| f64::from(*pixel))
            .collect();
        inside.iter().sum::<f64>() / inside.len() as f64
    }

    #[test]
    fn discs_lie_on_the_ends_of_curves_as_the_label_says() {
        for (size, length) in [(32, 6), (32, 9), (32, 14), (64, 9), (128, 14)] {
            let source = source(size, length);
            let parameters = Parameters::of(size);
            for number in 0..40 {
                let picture = picture(&source, 0, number).unwrap();
                assert!(picture.curves.iter().all(|curve| curve.len() == length));
                // Every stroke begins where the one before it ended, two margins on.
                for pair in picture.curves.iter().flat_map(|curve| curve.windows(2)) {
                    let margin = (0..4).map(f64::from).find(|margin| {
                        let pivot = pair[0].at(parameters.stroke + 2.0 * margin);
                        (pivot[0] - pair[1].pivot[0]).hypot(pivot[1] - pair[1].pivot[1]) < 1e-9
                    });
                    assert!(parameters.margins.contains(&margin.unwrap()));
                }
                // Which curve a disc is on: the one with the nearest end.
                let on = |disc: Point| {
                    let distance = |curve: &Vec<Stroke>| {
                        let ends = [curve[0].at(1.0), curve[length - 1].at(1.0 + parameters.stroke)];
                        ends.map(|end| (end[0] - disc[0]).hypot(end[1] - disc[1])).into_iter().fold(1e9, f64::min)
                    };
                    usize::from(distance(&picture.curves[1]) < distance(&picture.curves[0]))
                };
                assert_eq!(on(picture.discs[0]) == on(picture.discs[1]), picture.is_connected, "{size} {number}");
                let apart = picture.discs[0].iter().zip(picture.discs[1]).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                assert!(apart > 1.0, "two discs");
                for disc in picture.discs {
                    let light = brightness(&picture, size, disc, parameters.disc_radius * 0.7);
                    assert!(light > 200.0, "{light} at a disc of {size}");
                }
            }
        }
    }

    #[test]
    fn images_are_balanced_all_different_and_always_the_same() {
        let [train, validation] = generate(&source(32, 6), &Silent).unwrap();
        let connected: u32 = train.classes.iter().sum();
        // Four deviations of 400 throws of a coin.
        assert!((160..=240).contains(&connected), "{connected}");
        assert_eq!((train.classes.len(), validation.classes.len()), (400, 40));
        let all: std::collections::HashSet<&[u8]> =
            train.pixels.chunks(1024).chain(validation.pixels.chunks(1024)).collect();
        assert_eq!(all.len(), 440);
        let again = generate(&source(32, 6), &Silent).unwrap();
        assert!(again[0].pixels == train.pixels && again[1].classes == validation.classes);
        let other = generate(&PathfinderSource { images_seed: 4, ..source(32, 6) }, &Silent).unwrap();
        assert!(other[0].pixels != train.pixels);
    }

    #[test]
    fn curves_that_find_no_place_are_told() {
        let told = picture(&source(32, 300), 0, 0).unwrap_err().to_string();
        assert!(told.contains("300 strokes find no place") && told.contains("data.contour_length"), "{told}");
    }
}
