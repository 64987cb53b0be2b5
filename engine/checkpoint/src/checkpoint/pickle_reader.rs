//! Reads the pickle of a file of tensors: names and shapes, and nothing that is carried out.

use std::{collections::HashMap, rc::Rc};

use candle_core::DType;

/// The most bytes of the pickle itself, which holds names and shapes alone.
pub(super) const LARGEST_PICKLE: u64 = 16 << 20;

/// The most values that wait on the stack, and marks between them: a table puts down two thousand of them at once.
pub(super) const MOST_WAITING: usize = 1 << 16;

/// The most values that are remembered to be named again: some ten a tensor.
pub(super) const MOST_REMEMBERED: usize = 1 << 20;

/// The most members of a tuple: those of tensors have a handful.
pub(super) const MOST_MEMBERS: usize = 64;

/// The most entries of the table of tensors.
pub(super) const MOST_TENSORS: usize = 1 << 17;

/// A value of the pickle.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Plain,
    Flag(bool),
    Number(i64),
    Text(Rc<str>),
    Tuple(Rc<[Value]>),
    /// What is built up: only the table of tensors is read again.
    Table(Vec<(Value, Value)>),
    /// The texts of a list.
    List(Vec<Rc<str>>),
    Global(Rc<str>),
    Storage {
        dtype: DType,
        name: Rc<str>,
    },
    Tensor(Rc<TensorValue>),
}

#[derive(Debug)]
pub(super) struct TensorValue {
    pub dtype: DType,
    pub storage: Rc<str>,
    pub first: usize,
    pub shape: Vec<usize>,
    pub stride: Vec<usize>,
}

const REBUILD: &str = "torch._utils _rebuild_tensor_v2";

const PARAMETER: &str = "torch._utils _rebuild_parameter";

const TABLE: &str = "collections OrderedDict";

/// The number format of a class of storages.
fn dtype_of(class: &str) -> Option<DType> {
    Some(match class.strip_prefix("torch ")? {
        "FloatStorage" => DType::F32,
        "DoubleStorage" => DType::F64,
        "HalfStorage" => DType::F16,
        "BFloat16Storage" => DType::BF16,
        "LongStorage" => DType::I64,
        "ByteStorage" | "BoolStorage" => DType::U8,
        _ => return None,
    })
}

/// Reads a pickle: bytes, what was put on the stack, and what was remembered.
pub(super) struct Reader<'a> {
    /// Bytes that were not read yet.
    pub bytes: &'a [u8],
    /// The number format of every storage that was named.
    pub storages: HashMap<Rc<str>, DType>,
    /// True if more bytes were asked for than there are.
    pub is_cut: bool,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
}

/// Why a pickle is refused.
pub(super) fn cut<T>() -> Result<T, String> {
    Err("its table of tensors is cut off or damaged".to_owned())
}

/// The same, for what no table of tensors has as much of.
pub(super) fn large<T>() -> Result<T, String> {
    Err("its pickle is larger than any model's table of tensors".to_owned())
}

impl<'a> Reader<'a> {
    /// A reader at the beginning of a pickle.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            storages: HashMap::new(),
            is_cut: false,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
        }
    }

    fn take(&mut self, count: usize) -> Result<&[u8], String> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            self.is_cut = true;
            return cut();
        };
        self.bytes = rest;
        Ok(taken)
    }

    /// A little-endian number of some bytes.
    fn number(&mut self, bytes: usize) -> Result<u64, String> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn line(&mut self) -> Result<String, String> {
        let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') else {
            self.is_cut = true;
            return cut();
        };
        let line = String::from_utf8_lossy(self.take(end)?).into_owned();
        let _ = self.take(1)?;
        Ok(line)
    }

    fn pop(&mut self) -> Result<Value, String> {
        self.stack.pop().map_or_else(cut, Ok)
    }

    fn popped(&mut self, count: usize) -> Result<Vec<Value>, String> {
        match self.stack.len().checked_sub(count) {
            Some(first) => Ok(self.stack.split_off(first)),
            None => cut(),
        }
    }

    fn since_mark(&mut self) -> Result<Vec<Value>, String> {
        match self.marks.pop().filter(|mark| *mark <= self.stack.len()) {
            Some(mark) => Ok(self.stack.split_off(mark)),
            None => cut(),
        }
    }

    fn text(&mut self, bytes: usize) -> Result<Value, String> {
        let length = usize::try_from(self.number(bytes)?).unwrap_or(usize::MAX);
        Ok(Value::Text(String::from_utf8_lossy(self.take(length)?).into()))
    }

    fn push(&mut self, value: Value) -> Result<(), String> {
        if self.stack.len() >= MOST_WAITING {
            return large();
        }
        self.stack.push(value);
        Ok(())
    }

    fn remember(&mut self, place: u64) -> Result<(), String> {
        let Some(value) = self.stack.last() else { return cut() };
        if self.memo.len() >= MOST_REMEMBERED {
            return large();
        }
        // Tables and lists are remembered while they are empty.
        let value = if is_nested(value) { Value::Plain } else { value.clone() };
        let _ = self.memo.insert(place as u32, value);
        Ok(())
    }

    fn recall(&mut self, place: u64) -> Result<(), String> {
        match self.memo.get(&(place as u32)).cloned() {
            Some(value) => self.push(value),
            None => cut(),
        }
    }

    fn put(&mut self, pairs: Vec<Value>) -> Result<(), String> {
        let Some(Value::Table(table)) = self.stack.last_mut() else { return Ok(()) };
        if table.len() + pairs.len() / 2 > MOST_TENSORS {
            return large();
        }
        let mut pairs = pairs.into_iter();
        while let (Some(key), Some(value)) = (pairs.next(), pairs.next()) {
            table.push((flat(key), flat(value)));
        }
        Ok(())
    }

    /// Appends to a list, of which only texts are kept.
    fn append(&mut self, values: Vec<Value>) -> Result<(), String> {
        let Some(Value::List(list)) = self.stack.last_mut() else { return Ok(()) };
        if list.len() + values.len() > MOST_TENSORS {
            return large();
        }
        list.extend(
            values.into_iter().filter_map(|value| if let Value::Text(text) = value { Some(text) } else { None }),
        );
        Ok(())
    }

    /// The value of the next pickle, without what it left on the stack and in the memo.
    pub fn value(&mut self) -> Result<Value, String> {
        self.run()?;
        let value = self.stack.pop();
        self.stack.clear();
        self.marks.clear();
        self.memo.clear();
        value.map_or_else(cut, Ok)
    }

    /// Reads operations up to the end of a pickle.
    fn run(&mut self) -> Result<(), String> {
        loop {
            let operation = self.number(1)? as u8;
            match operation {
                // The version of the protocol.
                0x80 => drop(self.take(1)?),
                b'.' => return Ok(()),
                b'(' if self.marks.len() >= MOST_WAITING => return large(),
                b'(' => self.marks.push(self.stack.len()),
                b'c' => {
                    let global = format!("{} {}", self.line()?, self.line()?);
                    if ![REBUILD, PARAMETER, TABLE].contains(&global.as_str()) && dtype_of(&global).is_none() {
                        return Err(format!(
                            "its pickle asks to run \"{}\", which is no part of a table of tensors. Nothing was executed; take a \
                             copy in safetensors, or convert it where you trust it",
                            global.replace(' ', ".")
                        ));
                    }
                    self.push(Value::Global(global.into()))?;
                }
                b'q' => {
                    let place = self.number(1)?;
                    self.remember(place)?;
                }
                b'r' => {
                    let place = self.number(4)?;
                    self.remember(place)?;
                }
                b'h' => {
                    let place = self.number(1)?;
                    self.recall(place)?;
                }
                b'j' => {
                    let place = self.number(4)?;
                    self.recall(place)?;
                }
                b'X' | b'T' => {
                    let text = self.text(4)?;
                    self.push(text)?;
                }
                0x8c | b'U' => {
                    let text = self.text(1)?;
                    self.push(text)?;
                }
                b'K' => {
                    let number = self.number(1)?;
                    self.push(Value::Number(number as i64))?;
                }
                b'M' => {
                    let number = self.number(2)?;
                    self.push(Value::Number(number as i64))?;
                }
                b'J' => {
                    let number = self.number(4)? as u32;
                    self.push(Value::Number(i64::from(number.cast_signed())))?;
                }
                0x8a => {
                    let bytes = self.number(1)? as usize;
                    if bytes > 8 {
                        return cut();
                    }
                    let number = self.number(bytes)?;
                    self.push(Value::Number(number as i64))?;
                }
                b'G' => {
                    let _ = self.take(8)?;
                    self.push(Value::Plain)?;
                }
                b'N' => self.push(Value::Plain)?,
                0x88 | 0x89 => self.push(Value::Flag(operation == 0x88))?,
                b']' => self.push(Value::List(Vec::new()))?,
                b')' => self.push(Value::Tuple(Rc::from([])))?,
                b'}' => self.push(Value::Table(Vec::new()))?,
                b't' => {
                    let values = self.since_mark()?;
                    self.push(tuple(values)?)?;
                }
                0x85..=0x87 => {
                    let values = self.popped(usize::from(operation - 0x84))?;
                    self.push(tuple(values)?)?;
                }
                b'a' => {
                    let value = self.pop()?;
                    self.append(vec![value])?;
                }
                b'e' => {
                    let values = self.since_mark()?;
                    self.append(values)?;
                }
                // Attributes of the table, such as its version, are of no use here.
                b'b' => drop(self.pop()?),
                b's' => {
                    let pair = self.popped(2)?;
                    self.put(pair)?;
                }
                b'u' => {
                    let pairs = self.since_mark()?;
                    self.put(pairs)?;
                }
                b'Q' => {
                    let id = self.pop()?;
                    let storage = storage(&id)?;
                    if let Value::Storage { dtype, name } = &storage {
                        if self.storages.len() >= MOST_TENSORS {
                            return large();
                        }
                        let _ = self.storages.insert(Rc::clone(name), *dtype);
                    }
                    self.push(storage)?;
                }
                b'R' => {
                    let (given, function) = (self.pop()?, self.pop()?);
                    self.push(built(&function, &given)?)?;
                }
                other => {
                    return Err(format!(
                        "its pickle has an operation ({other:#04x}) that a table of tensors does not need. Nothing was executed; \
                         take a copy in safetensors"
                    ));
                }
            }
        }
    }

    /// The table of tensors.
    pub fn table(&mut self) -> Result<Vec<(Value, Value)>, String> {
        match self.value()? {
            Value::Table(table) => Ok(table),
            _ => Err("it holds no table of tensors but something else".to_owned()),
        }
    }
}

/// True if a value is built up entry by entry.
fn is_nested(value: &Value) -> bool {
    matches!(value, Value::Table(_) | Value::List(_))
}

/// A table inside of something else is not read again: without its entries no file decides how deep ours are.
fn flat(value: Value) -> Value {
    if is_nested(&value) { Value::Plain } else { value }
}

/// A tuple. Those of tensors hold tuples of numbers and nothing deeper.
fn tuple(values: Vec<Value>) -> Result<Value, String> {
    let holds_tuples = |value: &Value| matches!(value, Value::Tuple(inner) if inner.iter().any(|value| matches!(value, Value::Tuple(_))));
    if values.len() > MOST_MEMBERS {
        return large();
    }
    if values.iter().any(holds_tuples) { cut() } else { Ok(Value::Tuple(values.into_iter().map(flat).collect())) }
}

/// `("storage", class, name, device, count)`, in files from before `PyTorch` 1.6 with a part of another storage behind, which is none.
fn storage(id: &Value) -> Result<Value, String> {
    let Value::Tuple(parts) = id else { return cut() };
    if parts.get(5).is_some_and(|part| !matches!(part, Value::Plain)) {
        return Err("its tensors are parts of one another, as PyTorch before 0.4 wrote them; save it again, best as safetensors".to_owned());
    }
    let [Value::Text(_), Value::Global(class), Value::Text(name), ..] = parts.as_ref() else { return cut() };
    match dtype_of(class) {
        Some(dtype) => Ok(Value::Storage { dtype, name: Rc::clone(name) }),
        None => cut(),
    }
}

/// What the two functions that are understood build.
fn built(function: &Value, given: &Value) -> Result<Value, String> {
    let (Value::Global(function), Value::Tuple(given)) = (function, given) else { return cut() };
    if function.as_ref() == TABLE {
        return Ok(Value::Table(Vec::new()));
    }
    if function.as_ref() == PARAMETER {
        return match given.first() {
            Some(tensor @ Value::Tensor(_)) => Ok(tensor.clone()),
            _ => cut(),
        };
    }
    let [Value::Storage { dtype, name }, Value::Number(first), Value::Tuple(shape), Value::Tuple(stride), ..] =
        given.as_ref()
    else {
        return cut();
    };
    let sizes = |values: &[Value]| -> Result<Vec<usize>, String> {
        let size = |value: &Value| match value {
            Value::Number(size) => usize::try_from(*size).or_else(|_| cut()),
            _ => cut(),
        };
        values.iter().map(size).collect()
    };
    let tensor = TensorValue {
        dtype: *dtype,
        storage: Rc::clone(name),
        first: usize::try_from(*first).or_else(|_| cut())?,
        shape: sizes(shape)?,
        stride: sizes(stride)?,
    };
    if function.as_ref() == REBUILD && tensor.shape.len() == tensor.stride.len() {
        Ok(Value::Tensor(Rc::new(tensor)))
    } else {
        cut()
    }
}
