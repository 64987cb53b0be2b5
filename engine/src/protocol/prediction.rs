use super::{messages::Event, predict::Prediction};

impl TryFrom<Event> for Prediction {
    /// Another event.
    type Error = Box<Event>;

    fn try_from(event: Event) -> Result<Self, Self::Error> {
        match event {
            Event::Predicted(payload) => Ok(Self::Outputs(payload)),
            Event::AnswersFound(payload) => Ok(Self::Answers(payload)),
            other => Err(Box::new(other)),
        }
    }
}

impl From<Prediction> for Event {
    fn from(prediction: Prediction) -> Self {
        match prediction {
            Prediction::Outputs(payload) => payload.into(),
            Prediction::Answers(payload) => payload.into(),
        }
    }
}
