//! What goes over the wire comes back as it was.

use proptest::prelude::*;

use super::{commands::commands, events::events, parts::parts};
use crate::protocol::{Command, Event, Notice, Request, Ticket, commands, from_line, to_line};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_command_comes_back_as_it_was(parts in parts()) {
        for command in commands(&parts) {
            let request = Request::from(command);
            let line = to_line(&request).unwrap();
            prop_assert!(line.ends_with('\n') && line.lines().count() == 1);
            let back: Request = from_line(&line).map_err(|error| TestCaseError::fail(format!("{error}: {line}")))?;
            prop_assert_eq!(format!("{back:?}"), format!("{request:?}"));
        }
    }

    #[test]
    fn every_event_comes_back_as_it_was(parts in parts()) {
        for event in events(&parts) {
            let notice = Notice { ticket: parts.yes.then(Ticket::new), event };
            let line = to_line(&notice).unwrap();
            prop_assert!(line.ends_with('\n') && line.lines().count() == 1);
            let back: Notice = from_line(&line).map_err(|error| TestCaseError::fail(format!("{error}: {line}")))?;
            prop_assert_eq!(format!("{back:?}"), format!("{notice:?}"));
        }
    }
}

#[test]
fn the_wire_is_one_flat_object_a_line() {
    let request = Request::from(Command::LoadRun(commands::LoadRun { run: "0bkq3m5x2a".parse().unwrap() }));
    let ticket = to_line(&request.ticket).unwrap();
    let expected = format!("{{\"ticket\":{},\"command\":\"load_run\",\"run\":\"0bkq3m5x2a\"}}\n", ticket.trim());
    assert_eq!(to_line(&request).unwrap(), expected);
    assert_eq!(to_line(&Notice::from(Event::Done)).unwrap(), "{\"event\":\"done\"}\n");
    for broken in [
        "",
        "{}",
        "{\"ticket\":1}",
        "{\"ticket\":1,\"command\":\"fly\"}",
        "[1]",
        "{\"ticket\":-1,\"command\":\"stop\"}",
    ] {
        assert!(from_line::<Request>(broken).is_err(), "{broken}");
    }
    // A run's id names a folder: only an id is taken.
    assert!(from_line::<Request>("{\"ticket\":1,\"command\":\"load_run\",\"run\":\"../../x\"}").is_err());
}
