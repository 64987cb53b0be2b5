//! Sentences about what a conversion could not tell or take over.

use headroom_engine::{convert::Price, text::listed};

use crate::format::number;

/// The reason why a conversion tells no loss, in a sentence; none where it tells one.
pub fn without_loss(price: &Price) -> Option<String> {
    match (price.loss_before, price.loss) {
        (Some(_), Some(_)) => None,
        (None, None) => Some("It predicts no tokens, so that there is no loss to compare.".to_owned()),
        (Some(before), None) => Some(format!("The loss is not finite any more; it was {} before.", number(before))),
        (None, Some(now)) => Some(format!("Loss {} nats; before it was not finite.", number(now))),
    }
}

/// Names what a conversion did not take over from the directory of the model, in a sentence; none where there is nothing.
pub fn not_taken_over(names: &[String]) -> Option<String> {
    let copy = "Copy what another program wants of it.";
    (!names.is_empty()).then(|| format!("Not taken over, since nothing here reads it: {}. {copy}", listed(names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_conversion_cannot_tell_is_said() {
        let price = |loss_before, loss| {
            let data = "a text".to_owned();
            Price { data, examples: 1, tokens: 2, layers: Vec::new(), loss_before, loss }
        };
        assert_eq!(without_loss(&price(Some(2.0), Some(3.0))), None);
        assert!(without_loss(&price(None, None)).is_some_and(|why| why.contains("predicts no tokens")));
        assert!(
            without_loss(&price(Some(2.0), None)).is_some_and(|why| why.contains("not finite any more; it was 2.000"))
        );
        assert!(without_loss(&price(None, Some(3.0))).is_some_and(|why| why.starts_with("Loss 3.000")));
        assert_eq!(not_taken_over(&[]), None);
        let names = ["1_Pooling", "modules.json"].map(str::to_owned);
        assert!(not_taken_over(&names).is_some_and(|told| told.contains(": 1_Pooling, modules.json. Copy")));
    }
}
