//! Options of `convert` that say what a model is to become, as the conversions describe them.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use headroom_engine::convert::{Conversion, ConversionField, ConversionOption, FieldValue, ModelSizes};

use super::error::{CliError, CliResult};

/// What was given, each option with its values.
#[derive(Clone, Debug, Default)]
pub struct ConversionArgs(Vec<(&'static str, Vec<String>)>);

/// Conversions, one for each option that asks for it.
fn conversions() -> Vec<Conversion> {
    let mut all = Conversion::examples();
    all.dedup_by_key(|conversion| conversion.info().flag);
    all
}

/// The field of a conversion that an option says.
fn field<'a>(conversion: &'a mut Conversion, name: &str) -> Option<(ConversionOption, FieldValue<'a>)> {
    let fields = conversion.fields(&ModelSizes::ANY).into_iter();
    let mut found = fields.filter_map(|ConversionField { option, value, .. }| Some((option?, value)));
    found.find(|(option, _)| option.name == name)
}

/// Names of all options of a conversion, the one that asks for it first.
fn options(conversion: &mut Conversion) -> Vec<&'static str> {
    let mut names = vec![conversion.info().flag];
    let fields = conversion.fields(&ModelSizes::ANY);
    let others = fields.into_iter().filter_map(|field| field.option).map(|option| option.name);
    names.extend(others.filter(|name| *name != names[0]).collect::<Vec<_>>());
    names
}

fn argument(conversion: &mut Conversion, name: &'static str) -> Arg {
    let (info, example) = (conversion.info(), conversion.clone());
    let argument = Arg::new(name).long(name);
    let Some((option, value)) = field(conversion, name) else {
        return argument.help(info.help).action(ArgAction::SetTrue);
    };
    if matches!(value, FieldValue::Switch(_)) {
        return argument.help(option.help).action(ArgAction::SetTrue);
    }
    let usual = value.usual().filter(|_| option.required.is_none() && name != info.flag);
    let help = usual.map_or_else(|| option.help.to_owned(), |usual| format!("{} [default: {usual}]", option.help));
    let several = option.several.is_some().then_some(',');
    let read = move |text: &str| match field(&mut example.clone(), name) {
        Some((_, mut value)) => value.read(text).map(|()| text.to_owned()),
        None => Ok(text.to_owned()),
    };
    let action = if several.is_some() { ArgAction::Append } else { ArgAction::Set };
    argument.help(help).value_name(option.value_name).action(action).value_delimiter(several).value_parser(read)
}

impl Args for ConversionArgs {
    fn augment_args(mut command: Command) -> Command {
        let mut all = conversions();
        for conversion in &mut all {
            let flag = conversion.info().flag;
            command = command.arg(argument(conversion, flag));
        }
        for conversion in &mut all {
            for name in options(conversion).into_iter().skip(1) {
                command = command.arg(argument(conversion, name));
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ConversionArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given = Vec::new();
        for name in conversions().iter_mut().flat_map(options) {
            let is_switched = matches.try_get_one::<bool>(name).is_ok_and(|on| on == Some(&true));
            let values = matches.try_get_many::<String>(name).ok().flatten();
            let values: Vec<String> = values.into_iter().flatten().cloned().collect();
            if is_switched || !values.is_empty() {
                given.push((name, values));
            }
        }
        Ok(Self(given))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ConversionArgs {
    /// The conversions that were asked for, each with the name of a folder of its own where there are several.
    pub fn conversions(&self) -> CliResult<Vec<(Conversion, Option<String>)>> {
        let mut conversion = self.named()?;
        let flag = conversion.info().flag;
        let own = options(&mut conversion);
        for (name, _) in &self.0 {
            if !own.contains(name) {
                let other = conversions().into_iter().find(|other| options(&mut other.clone()).contains(name));
                let to = other.map_or(flag, |other| other.info().flag);
                let message = format!("--{name} says how with --{to}, which is not given.");
                return Err(CliError::at(format!("--{name}"), message));
            }
        }
        let mut all = vec![(conversion, None)];
        for name in own {
            let given = self.0.iter().find(|(given, _)| *given == name).map(|(_, values)| values.as_slice());
            let required = field(&mut all[0].0, name).and_then(|(option, _)| option.required);
            if let (None, Some(why)) = (given, required) {
                return Err(CliError::at(format!("--{name}"), why));
            }
            all = with_values(all, name, given)?;
        }
        Ok(all)
    }

    /// The one that was asked for, with its usual numbers.
    fn named(&self) -> CliResult<Conversion> {
        let mut asked = conversions();
        asked.retain(|conversion| self.0.iter().any(|(name, _)| *name == conversion.info().flag));
        if let [first, rest @ ..] = asked.as_slice()
            && !rest.is_empty()
        {
            let first = format!("--{}", first.info().flag);
            let rest: Vec<String> = rest.iter().map(|other| format!("--{}", other.info().flag)).collect();
            let message = format!(
                "{first} cannot be used with {}. One at a time: let heads borrow first, then convert what comes out, which only standard \
                 attention can be; pairs are left out last.",
                rest.join(" or ")
            );
            return Err(CliError::at(first, message));
        }
        asked.pop().ok_or_else(|| {
            let usages: Vec<&str> = conversions().iter().map(|conversion| conversion.info().usage).collect();
            let first = usages.first().and_then(|usage| usage.split(' ').next()).unwrap_or_default();
            let known = usages.split_last().map(|(last, others)| format!("{} and {last}", others.join(", ")));
            let known = known.unwrap_or_default();
            CliError::at(first, format!("Nothing says what it is to become. Name one of {known}."))
        })
    }
}

/// The conversions with the values of an option: each value makes one.
fn with_values(
    all: Vec<(Conversion, Option<String>)>,
    name: &str,
    given: Option<&[String]>,
) -> CliResult<Vec<(Conversion, Option<String>)>> {
    let Some(values) = given else { return Ok(all) };
    let at = |why: String| CliError::at(format!("--{name}"), why);
    let mut made = Vec::new();
    for (mut conversion, folder) in all {
        let Some((option, mut value)) = field(&mut conversion, name) else {
            made.push((conversion, folder));
            continue;
        };
        if values.is_empty() {
            value.read("").map_err(at)?;
            made.push((conversion, folder));
            continue;
        }
        for text in values {
            let (mut one, mut own) = (conversion.clone(), folder.clone());
            if let Some((_, mut value)) = field(&mut one, name) {
                value.read(text).map_err(at)?;
            }
            if let (Some(word), true) = (option.several, values.len() > 1) {
                own = Some(format!("{word}{text}"));
            }
            if made.contains(&(one.clone(), own.clone())) {
                return Err(at(format!("{text} is named twice. Name each once.")));
            }
            made.push((one, own));
        }
    }
    Ok(made)
}
