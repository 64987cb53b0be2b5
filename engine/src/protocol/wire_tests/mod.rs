//! Every command and every event goes over the wire and comes back as it was.

mod commands;
mod events;
mod parts;
mod round_trips;
