//! Options of `convert` that say what a model is to become, as the conversions describe them.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use headroom_engine::convert::{Conversion, ConversionField, ConversionOption, FieldValue, ModelSizes};

use super::error::{CliError, CliResult};

/// Options with their values as given; a switch has an empty one.
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
            if is_switched {
                given.push((name, vec![String::new()]));
            } else if !values.is_empty() {
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
        let own = options(&mut conversion);
        if let Some((name, _)) = self.0.iter().find(|(name, _)| !own.contains(name)) {
            let other = conversions().into_iter().find(|other| options(&mut other.clone()).contains(name));
            let to = other.unwrap_or(conversion).info().flag;
            let message = format!("--{name} says how with --{to}, which is not given.");
            return Err(CliError::at(format!("--{name}"), message));
        }
        let mut all = vec![(conversion.clone(), None)];
        for name in own {
            let Some((option, _)) = field(&mut conversion, name) else { continue };
            let at = |why: String| CliError::at(format!("--{name}"), why);
            let given = self.0.iter().find(|(given, _)| *given == name).map(|(_, values)| values.as_slice());
            let values = match (given, option.required) {
                (Some(values), _) => values,
                (None, Some(why)) => return Err(at(why.to_owned())),
                (None, None) => continue,
            };
            if let Some((_, text)) = values.iter().enumerate().find(|(place, text)| values[..*place].contains(text)) {
                return Err(at(format!("{text} is named twice. Name each once.")));
            }
            let each = all.iter().flat_map(|one| values.iter().map(move |text| (one.clone(), text)));
            let made = each.map(|((mut one, folder), text)| {
                if let Some((_, mut value)) = field(&mut one, name) {
                    value.read(text).map_err(at)?;
                }
                let own = option.several.filter(|_| values.len() > 1).map(|word| format!("{word}{text}"));
                Ok((one, own.or(folder)))
            });
            all = made.collect::<CliResult<Vec<_>>>()?;
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
