//! Positions that are told to pairs of tokens and not to the stream.

use candle_core::{Result, Tensor, bail};

use super::{embedding, rotary::Rotation};

/// Queries or keys turned by their positions, the first at 0 (Su et al., 2021): with the halves `a`, `b` of a head's columns
/// and the angles `position frequency_i` ([`Rotation::frequencies`]), `(a cos - b sin, b cos + a sin)`. The product of a query and a key
/// depends on their distance alone then.
///
/// # Shapes
/// `x` `[b, h, n, d]`, d even; result the same.
///
/// # Errors
/// If the shape does not fit.
pub fn rotate(x: &Tensor, rotation: &Rotation) -> Result<Tensor> {
    rotate_from(x, rotation, &[0])
}

/// The same where the first position of each row is another one, or one for all rows.
///
/// # Errors
/// As [`rotate`].
pub fn rotate_from(x: &Tensor, rotation: &Rotation, firsts: &[usize]) -> Result<Tensor> {
    let (b, _, n, d) = x.dims4()?;
    let rows = firsts.len();
    if rows != 1 && rows != b {
        bail!("{rows} first positions were given for {b} rows.")
    }
    let half = d / 2;
    if half * 2 != d {
        bail!("Heads of {d} columns have no halves, so that they cannot be turned by their positions.")
    }
    let (frequencies, attention) = (rotation.frequencies(d), rotation.scaling.attention());
    let table = |of: fn(f64) -> f64| {
        let places = firsts.iter().flat_map(|first| *first..first + n);
        let of_place =
            |position: usize| frequencies.iter().map(move |frequency| attention * of(position as f64 * frequency));
        let values: Vec<f64> = places.flat_map(of_place).collect();
        Tensor::from_vec(values, (rows, 1, n, half), x.device())?.to_dtype(x.dtype())
    };
    let (cos, sin) = (table(f64::cos)?, table(f64::sin)?);
    let (a, b) = (x.narrow(3, 0, half)?.contiguous()?, x.narrow(3, half, half)?.contiguous()?);
    let first = (a.broadcast_mul(&cos)? - b.broadcast_mul(&sin)?)?;
    let second = (b.broadcast_mul(&cos)? + a.broadcast_mul(&sin)?)?;
    Tensor::cat(&[&first, &second], 3)
}

/// What is added to the scores of pairs for their distance: a number of each head for each group of distances (Raffel et al.,
/// 2020).
#[derive(Clone, Debug)]
pub struct RelativeBias {
    /// `[buckets, h]`
    pub table: Tensor,
    /// From this distance on all are one group.
    pub farthest: usize,
    /// Whether keys after the query have groups of their own; otherwise they are one with the query's own position.
    pub is_two_sided: bool,
}

impl RelativeBias {
    /// The biases of the pairs of n queries and m keys, both from position 0. `[1, h, n, m]`
    ///
    /// # Errors
    /// If the table has no groups.
    pub fn of(&self, [n, m]: [usize; 2]) -> Result<Tensor> {
        let places: Vec<usize> = (0..m).collect();
        self.at([n, m], &[(0, places)])
    }

    /// The same for rows whose queries begin at a position, with the positions of their keys. `[rows, h, n, m]`
    ///
    /// # Errors
    /// As [`Self::of`]; if a row has other than m keys.
    pub fn at(&self, [n, m]: [usize; 2], rows: &[(usize, Vec<usize>)]) -> Result<Tensor> {
        let (buckets, heads) = self.table.dims2()?;
        if rows.iter().any(|(_, keys)| keys.len() != m) {
            bail!("Positions of other than {m} keys were given.")
        }
        if buckets < 4 {
            bail!("A table of {buckets} groups of distances is too small: four are needed.")
        }
        let of_row = |(first, keys): &(usize, Vec<usize>)| -> Vec<u32> {
            let queries = *first..first + n;
            queries.flat_map(|query| keys.iter().map(move |key| self.bucket(query, *key, buckets) as u32)).collect()
        };
        let ids: Vec<u32> = rows.iter().flat_map(of_row).collect();
        let ids = Tensor::from_vec(ids, (rows.len(), n * m), self.table.device())?;
        let found = embedding(&self.table, &ids)?; // [rows, n m, h]
        found.transpose(1, 2)?.contiguous()?.reshape((rows.len(), heads, n, m))
    }

    /// The group of a pair: near distances alone, farther ones together on a scale of logarithms. Rounded in 32 bits, as in
    /// `transformers`.
    fn bucket(&self, query: usize, key: usize, buckets: usize) -> usize {
        let (buckets, first, distance) = if self.is_two_sided {
            let half = buckets / 2;
            (half, if key > query { half } else { 0 }, key.abs_diff(query))
        } else {
            (buckets, 0, query.saturating_sub(key))
        };
        let exact = buckets / 2;
        if distance < exact {
            return first + distance;
        }
        let scale = (self.farthest as f64 / exact as f64).ln() as f32;
        let share = (distance as f32 / exact as f32).ln() / scale;
        let far = exact + (share * (buckets - exact) as f32) as usize;
        first + far.min(buckets - 1)
    }
}

/// Positions as waves of different lengths, sines before cosines (Vaswani et al., 2017, in Marian's order). `[positions, width]`
///
/// # Errors
/// If the device fails.
pub fn sinusoids(positions: usize, width: usize, like: &Tensor) -> Result<Tensor> {
    let sines = width.div_ceil(2);
    let wave = |position: usize, column: usize| {
        let (number, of): (usize, fn(f64) -> f64) =
            if column < sines { (column, f64::sin) } else { (column - sines, f64::cos) };
        of(position as f64 / 10_000_f64.powf(2.0 * number as f64 / width as f64)) as f32
    };
    let values: Vec<f32> =
        (0..positions).flat_map(|position| (0..width).map(move |column| wave(position, column))).collect();
    Tensor::from_vec(values, (positions, width), like.device())?.to_dtype(like.dtype())
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::super::testing::{assert_differences, values, variable};
    use super::*;

    #[test]
    fn products_of_turned_columns_depend_on_the_distance_alone() {
        let row = variable(1, &[1, 1, 1, 6], DType::F64);
        let same = row.broadcast_as((1, 1, 5, 6)).unwrap().contiguous().unwrap();
        let turned = rotate(&same, &Rotation::of(100.0)).unwrap().squeeze(0).unwrap().squeeze(0).unwrap();
        let products = turned.matmul(&turned.t().unwrap()).unwrap().to_vec2::<f64>().unwrap();
        for at in 0..3 {
            assert!((products[at][at + 2] - products[0][2]).abs() < 1e-12);
        }
        assert!((products[0][2] - products[0][1]).abs() > 1e-3);
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let x = variable(1, &[2, 1, 3, 4], DType::F64);
        assert_differences(&[x], |v| rotate(&v[0], &Rotation::of(10.0)));
        let table = variable(2, &[6, 2], DType::F64);
        for is_two_sided in [false, true] {
            assert_differences(std::slice::from_ref(&table), |v| {
                RelativeBias { table: v[0].clone(), farthest: 6, is_two_sided }.of([4, 5])
            });
        }
    }

    /// What `transformers` gives for T5's 32 groups up to a distance of 128.
    #[test]
    fn distances_are_grouped_as_in_t5() {
        let table = Tensor::zeros((32, 1), DType::F32, &Device::Cpu).unwrap();
        let two_sided = RelativeBias { table, farthest: 128, is_two_sided: true };
        let group = |query: usize, key: usize| two_sided.bucket(query, key, 32);
        assert_eq!([0, 1, 7, 8, 11, 12, 127, 500].map(|key| group(0, key)), [0, 17, 23, 24, 24, 25, 31, 31]);
        let one_sided = RelativeBias { is_two_sided: false, ..two_sided };
        assert_eq!(
            [0, 1, 15, 16, 40, 127, 500].map(|query| one_sided.bucket(query, 0, 32)),
            [0, 1, 15, 16, 23, 31, 31]
        );
        assert_eq!(one_sided.bucket(0, 9, 32), 0);
    }

    #[test]
    fn waves_begin_with_sines() {
        let like = Tensor::zeros(1, DType::F64, &Device::Cpu).unwrap();
        let table = values(&sinusoids(2, 4, &like).unwrap());
        assert_eq!(table[..4], [0.0, 0.0, 1.0, 1.0]);
        assert!((table[4] - 1.0_f64.sin()).abs() < 1e-7 && (table[7] - 0.01_f64.cos()).abs() < 1e-7);
    }
}
