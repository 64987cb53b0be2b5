use headroom_engine::analysis::NamedArray;

/// An array in numpy's format, version 1.0, as little-endian 64-bit floats.
pub fn npy(array: &NamedArray) -> Vec<u8> {
    const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
    let sizes: Vec<String> = array.shape.iter().map(|size| format!("{size},")).collect();
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}", sizes.join(" "));
    // The data begin at a multiple of 64 bytes; a newline ends the header.
    let start = MAGIC.len() + 2;
    let padding = 63 - (start + header.len()) % 64;
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&(header.len() as u16).to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.extend(array.values.iter().flat_map(|value| value.to_le_bytes()));
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_says_shape_and_type_and_data_are_aligned() {
        for shape in [vec![2, 3], vec![6], vec![1, 2, 3]] {
            let array = NamedArray { name: "a".to_owned(), shape: shape.clone(), values: vec![0.5; 6] };
            let file = npy(&array);
            let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
            assert_eq!((10 + length) % 64, 0);
            let header = std::str::from_utf8(&file[10..10 + length]).unwrap();
            let sizes: Vec<String> = shape.iter().map(|size| format!("{size},")).collect();
            assert!(header.contains(&format!("'shape': ({})", sizes.join(" "))), "{header}");
            assert!(header.ends_with('\n') && header.contains("'<f8'"));
            assert_eq!(file.len(), 10 + length + 48);
            assert_eq!(file[10 + length..][..8], 0.5_f64.to_le_bytes());
        }
    }
}
