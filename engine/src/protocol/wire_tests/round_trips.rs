//! What goes over the wire comes back as it was.

use proptest::prelude::*;

use super::made::Maker;
use crate::protocol::{Command, Event, Notice, PROTOCOL, Request, Ticket, commands, from_line, to_line};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_command_comes_back_as_it_was(seed: u64) {
        for command in Command::made(&mut Maker::new(seed)) {
            let request = Request::from(command);
            let line = to_line(&request).unwrap();
            prop_assert!(line.ends_with('\n') && line.lines().count() == 1);
            let back: Request = from_line(&line).map_err(|error| TestCaseError::fail(format!("{error}: {line}")))?;
            prop_assert_eq!(format!("{back:?}"), format!("{request:?}"));
        }
    }

    #[test]
    fn every_event_comes_back_as_it_was(seed: u64) {
        for event in Event::made(&mut Maker::new(seed)) {
            let notice = Notice { ticket: (seed % 2 == 0).then(Ticket::new), event };
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
    let ticket = request.ticket.number();
    let expected =
        format!("{{\"protocol\":{PROTOCOL},\"ticket\":{ticket},\"command\":\"load_run\",\"run\":\"0bkq3m5x2a\"}}\n");
    assert_eq!(to_line(&request).unwrap(), expected);
    assert_eq!(to_line(&Notice::from(Event::Done)).unwrap(), "{\"protocol\":2,\"event\":\"done\"}\n");
    for broken in [
        "",
        "{}",
        "{\"protocol\":2,\"ticket\":1}",
        "{\"protocol\":2,\"ticket\":1,\"command\":\"fly\"}",
        "[1]",
        "{\"protocol\":2,\"ticket\":-1,\"command\":\"stop\"}",
    ] {
        assert!(from_line::<Request>(broken).is_err(), "{broken}");
    }
    // A run's id names a folder: only an id is taken.
    assert!(
        from_line::<Request>("{\"protocol\":2,\"ticket\":1,\"command\":\"load_run\",\"run\":\"../../x\"}").is_err()
    );
}

#[test]
fn another_version_is_named_beside_ours() {
    let other = |line: &str| from_line::<Request>(line).unwrap_err().to_string();
    // The first version did not say which it was.
    let first = other("{\"ticket\":1,\"command\":\"cancel_generation\",\"generation\":7}");
    assert!(first.contains("speaks version 1 ") && first.contains("this one version 2"), "{first}");
    let newer = other("{\"protocol\":9,\"ticket\":1,\"command\":\"dance\"}");
    assert!(newer.contains("speaks version 9 "), "{newer}");
    // Older readers ignore what they do not know.
    let line = to_line(&Notice::from(Event::Done)).unwrap();
    let read: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((read["event"].as_str(), read["protocol"].as_u64()), (Some("done"), Some(u64::from(PROTOCOL))));
}
