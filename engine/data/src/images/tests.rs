use std::io::Write as _;
use std::path::Path;

use flate2::{Compression, write::GzEncoder};
use image::{GrayImage, RgbImage};
use tempfile::TempDir;

use super::load::{load, load_unlabelled};
use super::place::{Place, shape_at};
use super::*;
use crate::objective::{Answers, Labels, Objective};
use crate::{Batcher, Corpus, DataError, HeldOut, Reading, Silent, preview, with_image_shape};
use crate::{
    ImageError,
    config::{DataConfig, ImageClassificationTask, ImageShape, ImagesSource, RunConfig, Source, TaskConfig},
};

fn idx(dimensions: &[usize], content: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, dimensions.len() as u8];
    for size in dimensions {
        bytes.extend((*size as u32).to_be_bytes());
    }
    bytes.extend(content);
    bytes
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn pixel(image: usize, at: usize) -> u8 {
    ((image * 31 + at * 7) % 256) as u8
}

/// `count` images of `size` pixels a side whose class is their number modulo 3.
fn mnist(folder: &Path, part: &str, count: usize, size: usize) -> ImagesSource {
    let pixels = (0..count).flat_map(|image| (0..size * size).map(move |at| pixel(image, at)));
    let (path, labels) = (format!("{part}-images-idx3-ubyte.gz"), format!("{part}-labels-idx1-ubyte.gz"));
    std::fs::write(folder.join(&path), gzipped(&idx(&[count, size, size], pixels))).unwrap();
    let classes = (0..count).map(|image| (image % 3) as u8);
    std::fs::write(folder.join(labels), gzipped(&idx(&[count], classes))).unwrap();
    ImagesSource { path: path.into(), ..ImagesSource::default() }
}

fn corpus_of(source: ImagesSource, folder: &Path) -> Result<Corpus, DataError> {
    let config = DataConfig { source: Source::Images(source), sequence_length: 17, ..DataConfig::default() };
    Corpus::load(&config, &Objective::CLASSIFICATION, folder, folder, &Silent)
}

fn preview_of(source: &Source) -> Result<Option<ImagesPreview>, DataError> {
    let config = DataConfig { source: source.clone(), ..DataConfig::default() };
    let found = preview(&config, &Objective::CLASSIFICATION, &Reading::default())?;
    Ok(found.and_then(|found| found.images().cloned()))
}

fn told(source: ImagesSource, folder: &Path) -> (String, Option<&'static str>) {
    let error = corpus_of(source, folder).err().unwrap();
    (error.to_string(), error.field())
}

#[test]
fn in_a_folder_of_files_of_images_the_one_to_name_is_told() {
    let folder = TempDir::new().unwrap();
    for part in ["t10k", "train"] {
        let _ = mnist(folder.path(), part, 3, 8);
    }
    let (why, _) = told(ImagesSource { path: ".".into(), ..ImagesSource::default() }, folder.path());
    assert!(why.contains("file of images that is in it: "), "{why}");
    assert!(why.ends_with("train-images-idx3-ubyte.gz"), "{why}");
}

#[test]
fn every_image_is_seen_once_an_epoch_with_its_class() {
    let folder = TempDir::new().unwrap();
    let corpus = corpus_of(mnist(folder.path(), "train", 200, 8), folder.path()).unwrap();
    let images = corpus.images().unwrap();
    assert_eq!(images.shape, ImageShape { size: 8, channels: 1 });
    assert_eq!(corpus.answers().unwrap().labels, Labels::Classes(["0", "1", "2"].map(str::to_owned).to_vec()));
    assert_eq!(corpus.tokenizer_json(), None);
    assert!(corpus.dataset.tokens().is_none() && corpus.tokenizer.vocabulary_size() == 0);
    let batcher = Batcher::new(&corpus, &Objective::CLASSIFICATION, 16, 17, 5).unwrap();
    let mut seen = Vec::new();
    for step in 0..batcher.steps_per_epoch() {
        let batch = batcher.train_batch(step);
        let pixels = batch.pixels.as_ref().unwrap();
        let Some(Answers::Classes { classes, weights: None }) = &batch.answers else { panic!() };
        assert_eq!(
            (batch.targets(), batch.tokens(), pixels.values.len()),
            (batch.batch, batch.batch * 17, batch.batch * 64)
        );
        for ((image, class), values) in pixels.images.iter().zip(classes).zip(pixels.values.chunks(64)) {
            // Which image it is, its first two pixels say.
            let mean = images.normalisation.mean[0];
            let byte =
                |value: f32| ((f64::from(value) * images.normalisation.deviation[0] + mean) * 255.0).round() as usize;
            let number = (0..200).find(|number| {
                (0..64).all(|at| usize::from(pixel(*number, at)) == byte(values[at])) && number % 3 == *class as usize
            });
            assert!(number.is_some(), "image {image} has another class");
            seen.push(*image);
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..images.train.len() / 64).collect::<Vec<_>>());
    let again = Batcher::new(&corpus, &Objective::CLASSIFICATION, 16, 17, 5).unwrap();
    assert_eq!(again.train_batch(99), batcher.train_batch(99), "a function of seed and step alone");
    let other = Batcher::new(&corpus, &Objective::CLASSIFICATION, 16, 17, 6).unwrap();
    assert_ne!(other.train_batch(99), batcher.train_batch(99));
    let held_out = HeldOut::new(&corpus, &Objective::CLASSIFICATION, 16, 17).unwrap();
    let count: usize = held_out.batches(0).map(|batch| batch.batch).sum();
    assert_eq!(count + seen.len(), 200);
    assert!((12..=28).contains(&count), "about a tenth is held out: {count}");
    assert!(matches!(
        Batcher::new(&corpus, &Objective::CLASSIFICATION, 500, 17, 5),
        Err(DataError::Image(ImageError::TooFew { batch: 500, .. }))
    ));
}

#[test]
fn held_out_images_are_those_of_their_file_or_never_seen_in_training() {
    let folder = TempDir::new().unwrap();
    let source = mnist(folder.path(), "train", 60, 8);
    let _ = mnist(folder.path(), "t10k", 30, 8);
    let with_own = ImagesSource { validation_path: Some("t10k-images-idx3-ubyte.gz".into()), ..source.clone() };
    let corpus = corpus_of(with_own, folder.path()).unwrap();
    assert_eq!((corpus.statistics.train.documents, corpus.statistics.validation.documents), (60, 30));
    assert!(corpus.warnings.iter().any(|told| told.starts_with("30 of 30 held-out images are among")));
    // Copies of an image stay on one side.
    let pixels = (0..90).flat_map(|image| (0..64).map(move |at| pixel(image / 3, at)));
    std::fs::write(folder.path().join("images"), idx(&[90, 8, 8], pixels)).unwrap();
    std::fs::write(folder.path().join("labels"), idx(&[90], (0..90).map(|image| (image / 3 % 3) as u8))).unwrap();
    let copies = ImagesSource { path: "images".into(), labels: Some("labels".into()), ..ImagesSource::default() };
    let corpus = corpus_of(copies, folder.path()).unwrap();
    let images = corpus.images().unwrap();
    let train: std::collections::HashSet<&[u8]> = images.train.chunks(64).collect();
    assert!(images.validation.chunks(64).all(|image| !train.contains(image)));
    assert_eq!(images.validation.len() % (3 * 64), 0);
}

#[test]
fn cifar_is_told_by_its_length() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let image = |number: usize, head: &[u8]| {
        let pixels = (0..3072).map(move |at| pixel(number, at));
        head.iter().copied().chain(pixels).collect::<Vec<u8>>()
    };
    let ten: Vec<u8> = (0..30).flat_map(|number| image(number, &[(number % 10) as u8])).collect();
    let hundred: Vec<u8> =
        (0..30).flat_map(|number| image(number, &[(number % 20) as u8, (number * 3) as u8])).collect();
    std::fs::write(at("ten.bin"), &ten).unwrap();
    std::fs::write(at("hundred.bin.gz"), gzipped(&hundred)).unwrap();
    for (name, classes) in [("ten.bin", 10), ("hundred.bin.gz", 88)] {
        let source = ImagesSource { path: name.into(), ..ImagesSource::default() };
        let corpus = corpus_of(source, folder.path()).unwrap();
        assert_eq!(corpus.images().unwrap().shape, ImageShape { size: 32, channels: 3 });
        assert_eq!(corpus.answers().unwrap().labels.outputs(), classes, "{name}");
        let all = load_unlabelled(&at(name), 3, &Silent).unwrap();
        assert_eq!((all.len(), all.pixels[3072 + 5]), (30, pixel(1, 5)));
    }
    let names: Vec<String> = (0..10).map(|class| format!("class {class}")).collect();
    std::fs::write(at("classes.txt"), names.join("\n") + "\n").unwrap();
    let named = ImagesSource { path: "ten.bin".into(), classes: Some("classes.txt".into()), ..ImagesSource::default() };
    assert_eq!(corpus_of(named.clone(), folder.path()).unwrap().answers().unwrap().labels, Labels::Classes(names));
    std::fs::write(at("classes.txt"), "a\nb\nc\n").unwrap();
    let (said, _) = told(named.clone(), folder.path());
    assert!(
        said.contains("Image 4 has the label 3") && said.contains("classes.txt") && said.ends_with("ten.bin"),
        "{said}"
    );
    std::fs::write(at("classes.txt"), "a\nb\na\n").unwrap();
    assert_eq!(told(named, folder.path()).1, Some("data.classes"));
    let mut wrong = ten.clone();
    wrong[3073] = 200;
    std::fs::write(at("wrong.bin"), wrong).unwrap();
    std::fs::write(at("cut.bin"), &ten[..ten.len() - 9]).unwrap();
    let (said, _) = told(ImagesSource { path: "wrong.bin".into(), ..ImagesSource::default() }, folder.path());
    assert!(said.contains("Image 2 has the label 200"), "{said}");
    let (said, _) = told(ImagesSource { path: "cut.bin".into(), ..ImagesSource::default() }, folder.path());
    assert!(said.contains("no whole number of CIFAR images") && said.ends_with("cut.bin"), "{said}");
}

/// Files of images of two classes; every third one is a JPEG.
fn classes_of_files(folder: &Path, channels: usize) {
    for (class, name) in ["cat", "dog"].into_iter().enumerate() {
        std::fs::create_dir_all(folder.join(name)).unwrap();
        for number in 0..12 {
            let ending = if number % 3 == 2 { "jpg" } else { "png" };
            let path = folder.join(name).join(format!("{number}.{ending}"));
            let light = (class * 120 + number * 5) as u8;
            if channels == 1 {
                GrayImage::from_pixel(8, 8, image::Luma([light])).save(path).unwrap();
            } else {
                RgbImage::from_pixel(8, 8, image::Rgb([light, 255 - light, 9])).save(path).unwrap();
            }
        }
    }
}

#[test]
fn folders_of_classes_are_read_by_what_their_files_are() {
    for channels in [1, 3] {
        let folder = TempDir::new().unwrap();
        let root = folder.path().join("set");
        classes_of_files(&root, channels);
        // A name says nothing; a text is left out and told.
        std::fs::rename(root.join("cat/0.png"), root.join("cat/0.txt")).unwrap();
        std::fs::write(root.join("dog/notes.png"), "no image").unwrap();
        std::fs::write(root.join("dog/.hidden"), "").unwrap();
        let source = ImagesSource { path: "set".into(), ..ImagesSource::default() };
        let corpus = corpus_of(source, folder.path()).unwrap();
        let images = corpus.images().unwrap();
        assert_eq!(images.shape, ImageShape { size: 8, channels });
        assert_eq!(corpus.statistics.train.documents + corpus.statistics.validation.documents, 24);
        assert_eq!(corpus.answers().unwrap().labels, Labels::Classes(["cat", "dog"].map(str::to_owned).to_vec()));
        assert!(corpus.warnings.iter().any(|told| told.starts_with("1 file that was neither PNG nor JPEG")));
        let alone = load_unlabelled(&root.join("dog/1.png"), channels, &Silent).unwrap();
        let first = if channels == 1 { vec![125; 64] } else { [vec![125; 64], vec![130; 64], vec![9; 64]].concat() };
        assert_eq!(alone.pixels, first);
        let below = load_unlabelled(&root, channels, &Silent).unwrap();
        assert!(below.len() == 24 && below.names.unwrap()[0].ends_with("0.txt"));
        assert!(
            holds_images(&root) && holds_images(&root.join("cat/0.txt")) && !holds_images(&root.join("dog/notes.png"))
        );
    }
}

#[test]
fn what_is_wrong_with_files_is_told_by_their_names() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let of = |name: &str| ImagesSource { path: name.into(), ..ImagesSource::default() };
    let said = |source: ImagesSource, words: &[&str]| {
        let (said, _) = told(source, folder.path());
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    };
    classes_of_files(&at("set"), 1);
    GrayImage::new(9, 9).save(at("set/dog/7.png")).unwrap();
    said(of("set"), &["different sizes: 9 pixels a side here, and 8 in", "dog/7.png"]);
    GrayImage::new(9, 8).save(at("set/dog/7.png")).unwrap();
    said(of("set"), &["9 x 8 pixels", "square", "7.png"]);
    RgbImage::from_pixel(8, 8, image::Rgb([200, 0, 0])).save(at("set/dog/7.png")).unwrap();
    said(of("set"), &["coloured", "data.channels", "7.png"]);
    let colours = ImagesSource { channels: Some(3), ..of("set") };
    assert_eq!(corpus_of(colours, folder.path()).unwrap().images().unwrap().shape.channels, 3);
    let whole = std::fs::read(at("set/cat/1.png")).unwrap();
    std::fs::write(at("set/dog/7.png"), &whole[..whole.len() / 2]).unwrap();
    said(of("set"), &["cannot be decoded", "dog/7.png"]);
    std::fs::remove_dir_all(at("set/dog")).unwrap();
    said(of("set"), &["All images have the class `cat`"]);
    said(of("set/cat"), &["a folder for each class"]);
    said(ImagesSource { labels: Some("x".into()), ..of("set") }, &["data.labels has no meaning"]);
    said(of("nowhere"), &["There is no such file or folder"]);
    std::fs::write(at("text.bin"), "just a text").unwrap();
    said(of("text.bin"), &["no images that can be read", "11 bytes", "text.bin"]);

    let images = idx(&[6, 4, 4], vec![7; 96]);
    std::fs::write(at("images"), &images).unwrap();
    let with = |labels: &[u8]| {
        std::fs::write(at("l"), labels).unwrap();
        ImagesSource { labels: Some("l".into()), ..of("images") }
    };
    let (message, field) = told(of("images"), folder.path());
    assert!(message.contains("labels in a file of its own") && field == Some("data.labels"), "{message}");
    said(with(&idx(&[5], [0, 1, 0, 1, 0])), &["6 images and 5 labels", "images"]);
    said(with(&idx(&[6], [0; 6])), &["All images have the class `0`"]);
    said(with(&images), &["holds bytes of 6 x 4 x 4", "a file of labels"]);
    said(with(b"\x01\x02\x03\x04\x05\x06\x07\x08\x09"), &["[01, 02, 03, 04]", "IDX"]);
    said(ImagesSource { labels: Some("images".into()), ..of("l") }, &["no images that can be read"]);
    std::fs::write(at("cut"), &images[..90]).unwrap();
    said(
        ImagesSource { labels: Some("l".into()), ..of("cut") },
        &["is shorter than it says", "112 bytes and 90", "cut"],
    );
    std::fs::write(at("wide"), idx(&[6, 4, 5], vec![7; 120])).unwrap();
    said(of("wide"), &["5 x 4 pixels"]);
    std::fs::write(at("broken.gz"), &gzipped(&images)[..20]).unwrap();
    let (message, _) = told(of("broken.gz"), folder.path());
    assert!(message.contains("broken.gz"), "{message}");
    let source = ImagesSource { size: Some(28), ..with(&idx(&[6], [0, 1, 0, 1, 0, 1])) };
    let (message, field) = told(source, folder.path());
    assert!(message.contains("4 pixels") && message.contains("28 pixels") && field == Some("data.size"), "{message}");
}

#[test]
fn shape_and_length_are_looked_up() {
    let folder = TempDir::new().unwrap();
    let mut config = RunConfig::default();
    let source = mnist(folder.path(), "train", 20, 28);
    config.data.source =
        Source::Images(ImagesSource { path: folder.path().join(source.path), ..ImagesSource::default() });
    config.task = Some(TaskConfig::ImageClassification(ImageClassificationTask::default()));
    (config.model.kind, config.model.patch) = (crate::config::ModelKind::Encoder, Some(4));
    let known = with_image_shape(config.clone()).unwrap();
    assert_eq!(known.data.source.image_shape(), Some(ImageShape { size: 28, channels: 1 }));
    assert_eq!((known.data.sequence_length, known.validate()), (50, vec![]));
    assert_eq!(crate::config::from_toml(&crate::config::to_toml(&known)).unwrap(), known);
    let uneven = with_image_shape(RunConfig {
        model: crate::config::ModelConfig { patch: Some(5), ..config.model.clone() },
        ..config.clone()
    });
    let problems = uneven.unwrap().validate();
    assert!(problems[0].field == "model.patch" && problems[0].message().contains("1, 2, 4, 7, 14, 28"), "{problems:?}");
    config.data.source = Source::Images(ImagesSource { path: folder.path().join("none"), ..ImagesSource::default() });
    assert_eq!(with_image_shape(config).unwrap_err().field, "data.path");
}

#[test]
fn images_are_counted_by_class_and_one_of_each_is_shown() {
    let folder = TempDir::new().unwrap();
    let look = |source: ImagesSource| preview_of(&Source::Images(source)).unwrap().unwrap();
    let at = |name: &Path| ImagesSource { path: folder.path().join(name), ..ImagesSource::default() };
    let found = look(at(&mnist(folder.path(), "train", 20, 28).path));
    assert_eq!((found.shape, found.images), (ImageShape { size: 28, channels: 1 }, 20));
    assert_eq!(found.classes, [("0".to_owned(), 7), ("1".to_owned(), 7), ("2".to_owned(), 6)]);
    let shown: Vec<(&str, usize)> = found.examples.iter().map(|one| (one.label.as_str(), one.pixels.len())).collect();
    assert_eq!(shown, [("0", 784), ("1", 784), ("2", 784)]);
    assert_eq!(found.examples[1].pixels[5], pixel(1, 5), "the first image of class 1 as it is in the file");
    // More images than are looked at for one of each class; and large ones are thinned out.
    assert_eq!(look(at(&mnist(folder.path(), "many", 700, 4).path)).images, 700);
    let large = look(at(&mnist(folder.path(), "large", 3, 160).path));
    let first = &large.examples[0];
    assert_eq!((first.shape.size, first.pixels.len(), first.pixels[1]), (54, 54 * 54, pixel(0, 3)));
    // CIFAR: a class before each image, channel by channel.
    let cifar: Vec<u8> = (0..4_u8).flat_map(|image| [vec![image % 2 + 3], vec![image; 3072]].concat()).collect();
    std::fs::write(folder.path().join("batch.bin"), cifar).unwrap();
    let found = look(at(Path::new("batch.bin")));
    assert_eq!((found.shape.channels, found.images, found.classes.len()), (3, 4, 5));
    assert_eq!(
        found.examples.iter().map(|one| (one.label.as_str(), one.pixels[0])).collect::<Vec<_>>(),
        [("3", 0), ("4", 1)]
    );
    // Another file of that name is looked at anew.
    std::fs::write(folder.path().join("batch.bin"), vec![[vec![5], vec![9; 3072]].concat(); 3].concat()).unwrap();
    assert_eq!(look(at(Path::new("batch.bin"))).images, 3);
    // A folder a class.
    for (class, colour) in [("b", 9), ("a", 7)] {
        let own = folder.path().join("classes").join(class);
        std::fs::create_dir_all(&own).unwrap();
        GrayImage::from_pixel(8, 8, image::Luma([colour])).save(own.join("x.png")).unwrap();
    }
    let found = look(at(Path::new("classes")));
    assert_eq!((found.images, found.classes[0].0.as_str(), found.examples[0].pixels[0]), (2, "a", 7));
    assert_eq!(preview_of(&Source::Images(ImagesSource::default())).unwrap(), None, "none are named");
    assert!(preview_of(&Source::Images(at(Path::new("none")))).is_err());
    let drawn = crate::config::PathfinderSource { examples: 100, validation_examples: 10, ..Default::default() };
    let found = preview_of(&Source::Pathfinder(drawn.clone())).unwrap().unwrap();
    let config = DataConfig { source: Source::Pathfinder(drawn), sequence_length: 65, ..DataConfig::default() };
    let corpus = Corpus::load(&config, &Objective::CLASSIFICATION, folder.path(), folder.path(), &Silent).unwrap();
    assert_eq!(found.examples.len(), 5);
    assert_eq!(found.examples[4].pixels, corpus.images().unwrap().train[4 * 1024..5 * 1024]);
}

#[test]
fn a_place_is_looked_at_as_it_is_read() {
    let folder = TempDir::new().unwrap();
    let source = mnist(folder.path(), "train", 9, 8);
    let path = folder.path().join(source.path);
    let place = Place { path: &path, labels: None, labels_field: "data.labels", edition: crate::Edition::Current };
    assert_eq!(shape_at(place, None).unwrap(), load(place, None, &Silent).unwrap().shape);
}
