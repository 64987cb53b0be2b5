use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use headroom_tests::{Answer, Program};

use super::{comparison::differences, masks::Masks, value::Json};

/// Set to anything, it writes the goldens in place of comparing with them.
const RENEW: &str = "HEADROOM_RENEW_GOLDENS";
/// The most differences of one case that are told.
const MOST: usize = 12;

/// A command and what it answered.
pub struct Case {
    command: String,
    /// Arguments as they were given.
    line: String,
    /// The same, and which of several with the same arguments it is.
    arguments: String,
    answer: Json,
}

/// Runs commands on one store and keeps what they answer.
pub struct Recorder<'a> {
    pub program: &'a Program,
    masks: Masks,
    variables: Vec<(&'static str, String)>,
    pub cases: Vec<Case>,
}

impl<'a> Recorder<'a> {
    pub fn new(program: &'a Program) -> Self {
        Self { program, masks: Masks::new(&program.path("")), variables: Vec::new(), cases: Vec::new() }
    }

    /// Commands that follow ask this hub.
    pub fn ask_hub(&mut self, address: &str) {
        self.masks.hide_hub(address);
        self.set("HF_ENDPOINT", address);
        let cache = self.program.path("cache").display().to_string();
        self.set("HF_HUB_CACHE", &cache);
    }

    /// Sets a variable for the commands that follow.
    pub fn set(&mut self, variable: &'static str, value: &str) {
        self.variables.push((variable, value.to_owned()));
    }

    /// Runs a command with `--json`, whose arguments blanks separate, and keeps its answer.
    #[track_caller]
    pub fn record(&mut self, line: &str) {
        let answer = self.run(line);
        self.keep(line, Some(answer.code), &answer.stdout, false);
    }

    /// The same of a command that is to succeed.
    #[track_caller]
    pub fn succeed(&mut self, line: &str) {
        let answer = self.run(line).expect_code(0);
        self.keep(line, Some(answer.code), &answer.stdout, false);
    }

    /// The same of one whose numbers depend on the moment: they are masked.
    #[track_caller]
    pub fn record_anytime(&mut self, line: &str) {
        let answer = self.run(line);
        self.keep_anytime(line, Some(answer.code), &answer.stdout);
    }

    /// Keeps what a command wrote, without its numbers.
    #[track_caller]
    pub fn keep_anytime(&mut self, line: &str, code: Option<i32>, stdout: &str) {
        self.keep(line, code, stdout, true);
    }

    fn run(&self, line: &str) -> Answer {
        let arguments: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let mut command = self.program.command(&arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        self.program.run_command(command)
    }

    #[track_caller]
    fn keep(&mut self, line: &str, code: Option<i32>, stdout: &str, is_anytime: bool) {
        let values: Vec<Json> = serde_json::Deserializer::from_str(stdout)
            .into_iter()
            .collect::<Result<_, _>>()
            .unwrap_or_else(|error| panic!("{line}: not JSON: {error}\n{stdout}"));
        let is_lines = stdout.lines().count() == values.len();
        let (progress, values): (Vec<Json>, Vec<Json>) = values.into_iter().partition(Masks::is_progress);
        let mut shapes: Vec<Json> = Vec::new();
        for event in &progress {
            let shape = Masks::shape(event);
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
        shapes.sort_by_key(ToString::to_string);
        let mut fields = vec![
            ("exit".to_owned(), code.map_or(Json::Null, |code| Json::Integer(code.into()))),
            ("layout".to_owned(), Json::Text(if is_lines { "lines" } else { "indented" }.to_owned())),
        ];
        if !shapes.is_empty() {
            fields.push(("progress".to_owned(), Json::List(shapes)));
        }
        let values = values.into_iter().map(|value| {
            let value = Masks::shortened(self.masks.masked(value));
            if is_anytime { Masks::without_numbers(value) } else { value }
        });
        fields.push(("answer".to_owned(), Json::List(values.collect())));
        let before = self.cases.iter().filter(|case| case.line == line).count();
        let arguments = if before == 0 { line.to_owned() } else { format!("{line}, again ({})", before + 1) };
        let mut words = line.split(' ');
        let first = words.next().unwrap_or_default();
        let command = command_of(first, words.next());
        self.cases.push(Case { command, line: line.to_owned(), arguments, answer: Json::Object(fields) });
    }
}

fn command_of(first: &str, second: Option<&str>) -> String {
    let is_below = first == "bench"
        || first == "analyses" && second.is_some_and(|word| ["show", "delete", "restore"].contains(&word));
    match second {
        Some(second) if is_below => format!("{first} {second}"),
        _ => first.to_owned(),
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/json")
}

fn file_of(command: &str) -> PathBuf {
    folder().join(format!("{}.json", command.replace(' ', "-")))
}

/// Goldens of one command: its answers by its arguments.
fn read(command: &str) -> Vec<(String, Json)> {
    let Ok(text) = fs::read_to_string(file_of(command)) else { return Vec::new() };
    let whole = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file_of(command).display()));
    let Json::Object(cases) = whole else { panic!("{} holds no object", file_of(command).display()) };
    cases
}

/// Compares all answers with their goldens, or writes them; panics with every difference. Every command of `commands` needs one.
pub fn check(cases: Vec<Case>, commands: &BTreeSet<String>) {
    let mut of_command: BTreeMap<String, Vec<(String, Json)>> = BTreeMap::new();
    for case in cases {
        of_command.entry(case.command).or_default().push((case.arguments, case.answer));
    }
    let mut faults = Vec::new();
    for (command, answers) in &of_command {
        let names: BTreeSet<&String> = answers.iter().map(|(name, _)| name).collect();
        assert_eq!(
            names.len(),
            answers.len(),
            "two scenes have a case of `headroom {command}` with the same arguments"
        );
    }
    for command in commands.iter().filter(|command| !of_command.contains_key(*command)) {
        faults.push(format!("`headroom {command} --json` has no golden: add one to a scene"));
    }
    if std::env::var_os(RENEW).is_some() {
        renew(&of_command);
    }
    for (command, answers) in &of_command {
        let goldens = read(command);
        let argument_lists =
            |cases: &[(String, Json)]| cases.iter().map(|(arguments, _)| arguments.clone()).collect::<Vec<_>>();
        let (before, now) = (argument_lists(&goldens), argument_lists(answers));
        if before != now {
            faults.push(format!("{} has the cases {before:?} instead of {now:?}", file_of(command).display()));
        }
        for (arguments, answer) in answers {
            let Some((_, golden)) = goldens.iter().find(|(name, _)| name == arguments) else { continue };
            let lines = differences(golden, answer);
            for difference in lines.iter().take(MOST) {
                faults.push(format!("headroom {arguments}\n    {difference}"));
            }
            if lines.len() > MOST {
                faults.push(format!("headroom {arguments}\n    and {} more", lines.len() - MOST));
            }
        }
    }
    for file in fs::read_dir(folder()).expect("a folder of goldens") {
        let path = file.expect("a file").path();
        if !of_command.keys().any(|command| file_of(command) == path) {
            faults.push(format!("{} is the golden of no command", path.display()));
        }
    }
    assert!(
        faults.is_empty(),
        "{} differences from the goldens; where they are intended, {RENEW}=1 writes them anew:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// Writes the goldens; an answer that is as it was stays as it is written, whatever its last digits are here.
fn renew(of_command: &BTreeMap<String, Vec<(String, Json)>>) {
    fs::create_dir_all(folder()).expect("a folder of goldens");
    for (command, answers) in of_command {
        let goldens = read(command);
        let kept = |(arguments, answer): &(String, Json)| {
            let golden =
                goldens.iter().find(|(name, golden)| name == arguments && differences(golden, answer).is_empty());
            golden.map_or_else(|| (arguments.clone(), answer.clone()), Clone::clone)
        };
        let whole = Json::Object(answers.iter().map(kept).collect());
        fs::write(file_of(command), whole.pretty()).expect("a golden");
    }
}
