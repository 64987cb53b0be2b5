//! Every command and every event goes over the wire and comes back as it was.

pub(super) mod made;
mod round_trips;
