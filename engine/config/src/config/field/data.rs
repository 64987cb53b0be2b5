use super::super::{
    field_spec::{FieldSpec, Takes},
    source::Source,
};

/// Fields of the data: common ones, and those of each source.
pub(super) const FIELDS: &[FieldSpec] = &[
    FieldSpec::new("data.kind", "Source", "Where the text, the images or the expressions come from.")
        .names(Source::KINDS),
    FieldSpec::new("data.words", "Words", "Amount of generated text.")
        .unit("words")
        .whole(1_000, 100_000_000)
        .step(50_000)
        .of(&["grammar", "random"]),
    FieldSpec::new("data.pairs", "Pairs", "How many generated pairs there are to train on.")
        .unit("pairs")
        .whole(1_000, 10_000_000)
        .step(5_000)
        .of(&["number_words"]),
    FieldSpec::new(
        "data.path",
        "File or folder",
        "Text files: .txt, .jsonl, .csv, .tsv, any of them gzipped, .parquet, or a folder of such.",
    )
    .file()
    .of(&["file", "images"]),
    FieldSpec::new("data.path", "SQuAD file", "A .json file of SQuAD v1.1 or v2.0; gzipped where it ends in .gz.")
        .file()
        .of(&["squad"]),
    FieldSpec::new(
        "data.path",
        "Table",
        "A .tsv, .csv, .jsonl or .parquet file with a row for each example; the first three gzipped where they end \
         in .gz.",
    )
    .file()
    .of(&["table"]),
    FieldSpec::new(
        "data.source",
        "Texts",
        "A file with a text a line, whatever its name ends in; gzipped where it ends in .gz. Line n of the \
         translations is the translation of its line n.",
    )
    .file()
    .of(&["pairs"]),
    FieldSpec::new("data.target", "Translations", "A file with as many lines as the texts.").file().of(&["pairs"]),
    FieldSpec::new(
        "data.path",
        "Or a table",
        "One file of both instead, separated by tabs: the text, then its translation.",
    )
    .file()
    .of(&["pairs"]),
    FieldSpec::new(
        "data.validation_path",
        "Held-out text",
        "A file or folder to evaluate on. When it is empty, a share of the text is held out.",
    )
    .empty("a share of the text")
    .file()
    .of(&["file", "squad"]),
    FieldSpec::new(
        "data.validation_path",
        "Held-out rows",
        "Another table with the same columns, to evaluate on. When it is empty, a share of the rows is held out.",
    )
    .empty("a share of the rows")
    .file()
    .of(&["table"]),
    FieldSpec::new(
        "data.validation_path",
        "Held-out images",
        "A file or folder to evaluate on. When it is empty, a share of the images is held out.",
    )
    .empty("a share of them")
    .file()
    .of(&["images"]),
    FieldSpec::new(
        "data.validation_source",
        "Held-out texts",
        "A file to evaluate on. When it is empty, a share of the pairs is held out.",
    )
    .file()
    .of(&["pairs"]),
    FieldSpec::new("data.validation_target", "Held-out translations", "As many lines as the held-out texts.")
        .file()
        .of(&["pairs"]),
    FieldSpec::new("data.validation_path", "Or a held-out table", "A table to evaluate on, instead of two files.")
        .file()
        .of(&["pairs"]),
    FieldSpec::new("data.field", "JSONL field", "The field of each JSONL object that holds the text; empty = `text`.")
        .empty("text")
        .of(&["file"]),
    FieldSpec::new(
        "data.column",
        "CSV column",
        "The column that holds the text: its name in the header line, or its number from 1.",
    )
    .of(&["file"]),
    FieldSpec::new("data.text", "Text column", "The column of the text that is judged.")
        .takes(Takes::Columns)
        .of(&["table"]),
    FieldSpec::new(
        "data.text.second",
        "Second text",
        "The column of another text that is judged together with the first, as in pairs of sentences.",
    )
    .empty("none")
    .takes(Takes::Form)
    .of(&["table"]),
    FieldSpec::new(
        "data.text",
        "Text column",
        "The column of the texts: its name in the first line, or its number from 0, where the first line is a pair \
         like the others. Empty, both of them: the table has two columns and no names.",
    )
    .empty("the first")
    .takes(Takes::TwoTexts)
    .of(&["pairs"]),
    FieldSpec::new(
        "data.text.second",
        "Translation column",
        "The column of the translations: its name in the first line, or its number from 0.",
    )
    .empty("the second")
    .takes(Takes::Form)
    .of(&["pairs"]),
    FieldSpec::new(
        "data.label",
        "Label column",
        "The column of the answer: a class, as a word or a number, or a number.",
    )
    .takes(Takes::Column)
    .of(&["table"]),
    FieldSpec::new("data.header", "First row", "Whether the first row of the table names its columns.")
        .flag(&[("", "As it looks"), ("true", "Names the columns"), ("false", "Is a row like the others")])
        .of(&["table"]),
    FieldSpec::new(
        "data.strict",
        "Misplaced answers",
        "An answer may stand elsewhere in its paragraph than the file says: such questions are left out and \
         counted, or the file is refused.",
    )
    .flag(&[("false", "Leave the questions out"), ("true", "Refuse the file")])
    .of(&["squad"]),
    FieldSpec::new(
        "data.long",
        "Long pairs",
        "What becomes of pairs of which a side is longer than the sequence length.",
    )
    .names(&[("leave_out", "Left out"), ("truncate", "Cut off")])
    .of(&["pairs"]),
    FieldSpec::new(
        "data.labels",
        "Labels",
        "The IDX file of the labels. Empty = the file beside the images that is named alike; CIFAR files and \
         folders hold their labels.",
    )
    .empty("found beside them")
    .file()
    .of(&["images"]),
    FieldSpec::new("data.validation_labels", "Held-out labels", "The IDX file of the labels of the held-out images.")
        .empty("found beside them")
        .file()
        .of(&["images"]),
    FieldSpec::new(
        "data.classes",
        "Names of classes",
        "A file with the name of a class in each line, from class 0 on. Empty = their numbers, or the names of the \
         folders.",
    )
    .empty("their numbers")
    .file()
    .of(&["images"]),
    FieldSpec::new("data.size", "Pixels of a side", "Size of the images; found out when it is left out.")
        .whole(1, super::super::MOST_SIDE as u64)
        .of(&["images"]),
    FieldSpec::new(
        "data.channels",
        "Numbers of a pixel",
        "1 = grey, 3 = red, green and blue; found out when it is left out.",
    )
    .count()
    .of(&["images"]),
    FieldSpec::new("data.size", "Pixels of a side", "Size of the generated images.").count().of(&["pathfinder"]),
    FieldSpec::new(
        "data.contour_length",
        "Strokes of a curve",
        "Of each of the two long curves: 6 is easy, 9 harder, 14 hard.",
    )
    .whole(3, 24)
    .of(&["pathfinder"]),
    FieldSpec::new("data.min_length", "Longer than", "Every expression has more symbols than these.")
        .unit("symbols")
        .whole(0, 100_000)
        .step(50)
        .of(&["listops"]),
    FieldSpec::new("data.max_length", "Shorter than", "Every expression has fewer symbols than these.")
        .unit("symbols")
        .whole(3, 100_000)
        .step(50)
        .of(&["listops"]),
    FieldSpec::new("data.max_depth", "Levels", "Levels of lists within lists: at the last one stand digits alone.")
        .whole(2, 20)
        .of(&["listops"]),
    FieldSpec::new("data.max_args", "Arguments", "The most arguments of an operator.").whole(2, 20).of(&["listops"]),
    FieldSpec::new("data.examples", "Examples", "How many are generated to train on.")
        .whole(100, 1_000_000)
        .step(1_000)
        .of(&["listops", "pathfinder"]),
    FieldSpec::new("data.validation_examples", "Held-out examples", "How many are generated to evaluate on.")
        .whole(10, 1_000_000)
        .step(100)
        .of(&["listops", "pathfinder"]),
    FieldSpec::new(
        "data.images_seed",
        "Images' seed",
        "Seed of the images, apart from the run's seed, so that runs with several seeds see the same ones.",
    )
    .count()
    .of(&["pathfinder"]),
    FieldSpec::new(
        "data.text_seed",
        "Text seed",
        "Seed of the text, apart from the run's seed, so that runs with several seeds see the same text.",
    )
    .count()
    .of(&["grammar", "listops", "number_words", "random"]),
    FieldSpec::new(
        "data.sequence_length",
        "Sequence length",
        "Tokens of one example, special tokens included. Cost of attention grows with its square.",
    )
    .unit("tokens")
    .whole(2, 1_048_576)
    .step(16),
    FieldSpec::new(
        "data.shuffled",
        "Order of tokens",
        "Shuffled is the text's control: every token stands at a random place, so that single tokens are as \
         frequent as before and nothing else is left to learn. What a model shows on both is not due to language.",
    )
    .flag(&[("false", "As in the text"), ("true", "Shuffled: the control")]),
    FieldSpec::new(
        "data.validation_fraction",
        "Held-out share",
        "Share of the text that is only evaluated on, cut by document, or by contiguous blocks in a single \
         document.",
    )
    .unit("of 1")
    .ends(0.001, 0.5),
    FieldSpec::new("data.tokenizer.kind", "Tokenizer", "How text becomes tokens.").names(&[
        ("bpe", "Byte pairs, trained"),
        ("word_piece", "WordPiece, trained"),
        ("bytes", "Bytes"),
        ("file", "A tokenizer.json"),
        ("words", "Words between blanks"),
        ("initial", "That of the model to begin with"),
    ]),
    FieldSpec::new(
        "data.tokenizer.vocabulary",
        "Vocabulary",
        "Number of different tokens, special ones included. A small text may allow fewer.",
    )
    .unit("tokens")
    .whole(super::super::TrainedTokenizer::LEAST as u64, 1_000_000)
    .step(256)
    .of(&["bpe", "word_piece"]),
    FieldSpec::new(
        "data.tokenizer.vocabulary",
        "Vocabulary",
        "The most different tokens, special ones included; of more words the rarer ones are unknown.",
    )
    .unit("tokens")
    .whole(super::super::WordTokenizer::LEAST as u64, 1_000_000)
    .step(256)
    .of(&["words"]),
    FieldSpec::new("data.tokenizer.path", "tokenizer.json", "A tokenizer in the format of Hugging Face `tokenizers`.")
        .file()
        .of(&["file"]),
];
