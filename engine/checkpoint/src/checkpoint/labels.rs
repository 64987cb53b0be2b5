//! What the outputs of a model stand for, under the keys of `transformers`: `id2label`, `label2id`, `problem_type`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    attention::{InputPlan, ModelPlan, OutputPlan},
    objective::Labels,
};

const NAMES: &str = "id2label";
const IDS: &str = "label2id";
const PROBLEM: &str = "problem_type";
const CLASSES: &str = "single_label_classification";
const NUMBER: &str = "regression";

/// A key of ours: whether questions may have no answer in their paragraph.
const LACK: &str = "headroom_may_lack_answers";

/// The name that `transformers` gives a class of which nobody says one.
fn usual_name(output: usize) -> String {
    format!("LABEL_{output}")
}

/// The keys of a plan that ends in classes, with their usual names where nothing is known of them; of one that ends in spans whether
/// questions may have no answer; none of another plan.
pub(super) fn keys(plan: &ModelPlan, labels: Option<&Labels>) -> Map<String, Value> {
    let classes = match (plan.head, labels) {
        (OutputPlan::Classes { classes, .. }, _) => classes,
        (OutputPlan::Span, Some(Labels::Span { may_lack_answers })) => {
            return [(LACK.to_owned(), json!(may_lack_answers))].into_iter().collect();
        }
        _ => return Map::new(),
    };
    let name =
        |output: usize| labels.and_then(|labels| labels.name(output)).map_or_else(|| usual_name(output), str::to_owned);
    let names: Map<String, Value> = (0..classes).map(|output| (output.to_string(), json!(name(output)))).collect();
    let mut keys: Map<String, Value> = [(NAMES.to_owned(), Value::Object(names))].into_iter().collect();
    if let Some(labels) = labels {
        let ids: Map<String, Value> = (0..classes).map(|output| (name(output), json!(output))).collect();
        keys.insert(IDS.to_owned(), Value::Object(ids));
        let problem = match labels {
            Labels::Classes(_) => CLASSES,
            Labels::Number => NUMBER,
            Labels::Span { .. } => return keys,
        };
        keys.insert(PROBLEM.to_owned(), json!(problem));
    }
    keys
}

/// What the outputs of a model stand for, by the text of its `config.json`; none where it answers something else than one class,
/// a number or a span.
pub(super) fn read(text: &str, plan: &ModelPlan) -> Option<Labels> {
    let keys: Map<String, Value> = serde_json::from_str(text).ok()?;
    let classes = match (plan.input, plan.head) {
        (InputPlan::Tokens { .. }, OutputPlan::Classes { classes, distils: false, .. })
        | (InputPlan::Patches { .. }, OutputPlan::Classes { classes: classes @ 2.., distils: false, .. }) => classes,
        (InputPlan::Tokens { .. }, OutputPlan::Span) => {
            let may_lack_answers = keys.get(LACK).and_then(Value::as_bool).unwrap_or(false);
            return Some(Labels::Span { may_lack_answers });
        }
        _ => return None,
    };
    match (keys.get(PROBLEM).and_then(Value::as_str), classes) {
        (Some(NUMBER) | None, 1) => return Some(Labels::Number),
        (Some(CLASSES) | None, 2..) => {}
        _ => return None,
    }
    let named: BTreeMap<usize, &str> = keys
        .get(NAMES)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(output, name)| Some((output.parse().ok()?, name.as_str()?)))
        .collect();
    let name = |output: usize| named.get(&output).map_or_else(|| usual_name(output), |name| (*name).to_owned());
    Some(Labels::Classes((0..classes).map(name).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Source, TableSource, TaskConfig, TaskOutput, from_toml};

    fn plan(task: &str, outputs: usize) -> ModelPlan {
        let text = format!(
            "format = 1\nmodel.kind = \"encoder\"\ntask.kind = \"{task}\"\n[data]\nkind = \"{}\"\npath = \"a\"\n",
            if task == "span" { "squad" } else { "table" }
        );
        ModelPlan::resolve(&from_toml(&text).unwrap(), 50).unwrap().with_outputs(outputs)
    }

    #[test]
    fn labels_come_back_in_their_order() {
        let names: Vec<String> = (0..12).map(|class| format!("c{}", 11 - class)).collect();
        for (labels, task) in [(Labels::Classes(names), "classification"), (Labels::Number, "regression")] {
            let plan = plan(task, labels.outputs());
            let text = Value::Object(keys(&plan, Some(&labels))).to_string();
            assert_eq!(read(&text, &plan), Some(labels));
        }
        for may_lack_answers in [false, true] {
            let (plan, labels) = (plan("span", 2), Labels::Span { may_lack_answers });
            assert_eq!(plan.head, OutputPlan::Span);
            assert_eq!(read(&Value::Object(keys(&plan, Some(&labels))).to_string(), &plan), Some(labels));
            assert_eq!(read("{}", &plan), Some(Labels::Span { may_lack_answers: false }));
        }
        let plan = plan("classification", 2);
        let usual = Value::Object(keys(&plan, None));
        assert_eq!(usual, json!({ "id2label": { "0": "LABEL_0", "1": "LABEL_1" } }), "as ever");
        assert_eq!(read("{\"problem_type\": \"multi_label_classification\"}", &plan), None);
    }

    #[test]
    fn a_plan_with_a_task_is_one_of_a_config() {
        let of_texts = |task: &TaskConfig| task.answers_examples() && !task.info().reads_images;
        for task in TaskConfig::examples().into_iter().filter(of_texts) {
            let plan = plan(task.kind(), 3);
            assert!(match task.info().output {
                TaskOutput::Classes => {
                    matches!(plan.head, OutputPlan::Classes { classes: 3, pooler: Some(_), distils: false })
                }
                TaskOutput::Span => plan.head == OutputPlan::Span,
                TaskOutput::Text => false,
            });
        }
        let refused = |text: &str| from_toml(text).unwrap().validate();
        for (text, field) in [
            ("format = 1\nmodel.kind = \"encoder\"\ntask.kind = \"regression\"", "data.kind"),
            ("format = 1\nmodel.kind = \"encoder\"\ndata.kind = \"table\"\ndata.path = \"a.tsv\"", "task.kind"),
            (
                "format = 1\nmodel.kind = \"decoder\"\ntask.kind = \"regression\"\ndata.kind = \"table\"\ndata.path = \"a.tsv\"",
                "model.kind",
            ),
            (
                "format = 1\nmodel.kind = \"encoder_decoder\"\ntask.kind = \"regression\"\ndata.kind = \"table\"\ndata.path = \"a.tsv\"",
                "model.kind",
            ),
            (
                "format = 1\nmodel.kind = \"encoder\"\ndata.kind = \"table\"\ndata.path = \"a.tsv\"\ntask = { kind = \"classification\", class_weights = { a = 0.0 } }",
                "task.class_weights.a",
            ),
            ("format = 1\nmodel.kind = \"encoder\"\ntask.kind = \"regression\"\ndata.kind = \"table\"", "data.path"),
        ] {
            assert_eq!(refused(text).iter().map(|found| found.field.as_str()).collect::<Vec<_>>(), [field], "{text}");
        }
        assert!(Source::Table(TableSource::default()).has_labels());
    }
}
