use super::super::{
    field_spec::{FieldSpec, Takes},
    range::{End, Range},
};

/// Fields of the task.
pub(super) const FIELDS: &[FieldSpec] = &[
    FieldSpec::new(
        "task.kind",
        "Answer",
        "What the model learns to tell of the text: to which class it belongs, or a number, learnt by its squared \
         error.",
    )
    .names(&[
        ("classification", "A class"),
        ("regression", "A number"),
        ("span", "A place in a paragraph"),
        ("image_classification", "A class of an image"),
        ("translation", "A translation"),
    ]),
    FieldSpec::new(
        "task.unlabelled",
        "No label",
        "What stands in the label column of rows that have no label, such as -1: they are left out. “none”: every \
         text there is a label. Empty: - beside other labels, and -1 beside 0, 1 and 2 of classes.",
    )
    .empty("as it looks")
    .of(&["classification", "regression"]),
    FieldSpec::new(
        "task.class_weights",
        "Loss counts",
        "Where some classes are rare, a model that never names them has a small loss: with weights each class \
         counts as much.",
    )
    .takes(Takes::Numbers(Range::Real(End::Beyond(0.0), End::At(1e6))))
    .of(&["classification", "image_classification"]),
    FieldSpec::new(
        "task.doc_stride",
        "Window step",
        "A paragraph that does not fit beside its question is read in windows, each of which begins so many tokens \
         after the one before it. A smaller step shows every answer in more of its surroundings, and makes more \
         windows.",
    )
    .unit("tokens")
    .whole(1, 1_048_576)
    .step(16)
    .of(&["span"]),
    FieldSpec::new("task.max_answer", "Longest answer", "No answer that is given has more tokens than these.")
        .unit("tokens")
        .whole(1, 1_048_576)
        .step(5)
        .of(&["span"]),
    FieldSpec::new(
        "task.no_answer_threshold",
        "No answer from",
        "No answer is given where the score of there being none exceeds that of the best answer by more than this: \
         the higher it is, the fewer questions stay without an answer. 0: the higher score decides. It counts where \
         questions may have no answer, as in SQuAD v2.0.",
    )
    .ends(-1e6, 1e6)
    .of(&["span"]),
    FieldSpec::new(
        "task.scored_pairs",
        "Scored translations",
        "Held-out pairs that the model translates at each evaluation; what it writes is compared with the right \
         translations: BLEU, chrF, ROUGE. Empty: none.",
    )
    .empty("none")
    .whole(1, 1_000_000)
    .of(&["translation"]),
    FieldSpec::new(
        "task.beams",
        "Beams",
        "Translations that are followed at the same time while one is written for a score. 1: word by word the most \
         probable; more find better ones and take as much more time.",
    )
    .whole(1, 64)
    .of(&["translation"]),
];
