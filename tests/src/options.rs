/// The value of an option with a number, such as `--count 40`, or what it is otherwise.
pub fn number(name: &str, otherwise: u64) -> u64 {
    let Some(value) = text(name) else { return otherwise };
    value.parse().unwrap_or_else(|_| panic!("{name} wants a number"))
}

/// The value of an option, such as `--program target/release/headroom`.
pub fn text(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.next()?;
    Some(arguments.next().unwrap_or_else(|| panic!("{name} wants a value")))
}
