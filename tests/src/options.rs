/// The value of an option with a number, such as `--count 40`, or what it is otherwise.
pub fn number(name: &str, otherwise: u64) -> u64 {
    let arguments: Vec<String> = std::env::args().collect();
    let place = arguments.iter().position(|argument| argument == name);
    let Some(place) = place else { return otherwise };
    let value = arguments.get(place + 1).and_then(|value| value.parse().ok());
    value.unwrap_or_else(|| panic!("{name} wants a number"))
}
