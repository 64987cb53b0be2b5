//! Names that a source file declares, imports and uses, module by module. Code under `#[cfg(test)]` is left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::tokens::{Token, tokens};

/// Segments of a path: `["super", "a", "B"]`.
pub type Segments = Vec<String>;

/// Names of one module: a file, or `mod name { .. }` inside of one.
#[derive(Debug, Default)]
pub struct Declared {
    /// Modules in files of their own.
    pub files: BTreeSet<String>,
    /// Modules in this file.
    pub inline: BTreeMap<String, Declared>,
    /// Functions, types, constants and macros.
    pub items: BTreeSet<String>,
    /// Imported names, each with the paths that it stands for.
    pub imports: BTreeMap<String, Vec<Segments>>,
    /// Modules and enums whose names are all imported.
    pub globs: Vec<Segments>,
    /// Paths of imports that are not passed on to others.
    pub private_imports: Vec<Segments>,
    /// Paths in code, and single names that may be imported ones.
    pub paths: BTreeSet<Segments>,
    /// Modules named in attributes, such as `#[serde(with = "crate::text::floats")]`.
    pub attribute_paths: BTreeSet<Segments>,
}

/// Reads a source file.
pub fn declared(source: &str) -> Declared {
    let mut reader = Reader { tokens: tokens(source), at: 0 };
    reader.module()
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
}

impl Reader {
    fn ahead(&self, steps: usize) -> Option<&Token> {
        self.tokens.get(self.at + steps)
    }

    fn is_sign(&self, steps: usize, sign: char) -> bool {
        self.ahead(steps) == Some(&Token::Sign(sign))
    }

    fn is_word(&self, steps: usize, word: &str) -> bool {
        self.ahead(steps).is_some_and(|token| token.is_word(word))
    }

    fn word(&self, steps: usize) -> Option<String> {
        match self.ahead(steps) {
            Some(Token::Word(word)) => Some(word.clone()),
            _ => None,
        }
    }

    /// Reads to the end of the file or of the braces of a module.
    fn module(&mut self) -> Declared {
        let mut module = Declared::default();
        let mut depth = 0_usize;
        let mut is_passed_on = false;
        while let Some(token) = self.ahead(0).cloned() {
            let begins = self.at == 0 || !matches!(self.tokens[self.at - 1], Token::Joint | Token::Sign('.'));
            match token {
                Token::Sign('#') if self.is_sign(1, '[') || self.is_sign(1, '!') => {
                    if self.attribute(&mut module) {
                        self.skip_item();
                    }
                    continue;
                }
                Token::Sign('{' | '(' | '[') => depth += 1,
                Token::Sign('}') if depth == 0 => {
                    self.at += 1;
                    break;
                }
                Token::Sign('}' | ')' | ']') => depth = depth.saturating_sub(1),
                Token::Word(word) if begins => match word.as_str() {
                    "pub" => {
                        is_passed_on = true;
                        self.at += 1;
                        if self.is_sign(0, '(') {
                            self.skip_group();
                        }
                        continue;
                    }
                    "use" => {
                        self.at += 1;
                        self.import(&mut module, &Vec::new(), is_passed_on);
                    }
                    "mod" if self.is_sign(2, '{') => {
                        let name = self.word(1).unwrap();
                        self.at += 3;
                        let inner = self.module();
                        module.inline.insert(name, inner);
                        is_passed_on = false;
                        continue;
                    }
                    "mod" => {
                        module.files.extend(self.word(1));
                        self.at += 1;
                    }
                    "macro_rules" => {
                        module.items.extend(self.word(2));
                        self.at += 2;
                    }
                    "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" => {
                        let is_mutable = usize::from(self.is_word(1, "mut"));
                        let name = self.word(1 + is_mutable);
                        let is_item = name.as_ref().is_some_and(|name| name != "fn" && name != "unsafe");
                        if is_item && depth == 0 {
                            module.items.extend(name);
                        }
                        self.at += usize::from(is_item) * (1 + is_mutable);
                    }
                    _ => {
                        module.paths.insert(self.path());
                        continue;
                    }
                },
                _ => {}
            }
            is_passed_on = false;
            self.at += 1;
        }
        module
    }

    /// Reads a path and stands behind it.
    fn path(&mut self) -> Segments {
        let mut path: Segments = self.word(0).into_iter().collect();
        self.at += 1;
        while self.ahead(0) == Some(&Token::Joint)
            && let Some(word) = self.word(1)
        {
            path.push(word);
            self.at += 2;
        }
        path
    }

    /// Reads the tree of a `use` line after `prefix`.
    fn import(&mut self, module: &mut Declared, prefix: &Segments, is_passed_on: bool) {
        let mut path = prefix.clone();
        if self.ahead(0) == Some(&Token::Joint) {
            self.at += 1;
        }
        loop {
            match self.ahead(0).cloned() {
                Some(Token::Word(word)) => {
                    self.at += 1;
                    if word != "self" || path.is_empty() {
                        path.push(word);
                    }
                    if self.ahead(0) == Some(&Token::Joint) {
                        self.at += 1;
                        continue;
                    }
                    let mut name = path.last().cloned();
                    if self.is_word(0, "as") {
                        name = self.word(1);
                        self.at += 2;
                    }
                    if !is_passed_on {
                        module.private_imports.push(path.clone());
                    }
                    if let Some(name) = name {
                        module.imports.entry(name).or_default().push(path);
                    }
                }
                Some(Token::Sign('*')) => {
                    self.at += 1;
                    module.globs.push(path);
                }
                Some(Token::Sign('{')) => {
                    self.at += 1;
                    while self.ahead(0).is_some() && !self.is_sign(0, '}') {
                        self.import(module, &path, is_passed_on);
                        self.at += usize::from(self.is_sign(0, ','));
                    }
                    self.at += 1;
                }
                _ => self.at += 1,
            }
            break;
        }
    }

    /// Reads an attribute and stands behind it. True if what follows is compiled for tests alone.
    fn attribute(&mut self, module: &mut Declared) -> bool {
        self.at += 1 + usize::from(self.is_sign(1, '!'));
        let start = self.at;
        self.skip_group();
        let inside = &self.tokens[start..self.at.min(self.tokens.len())];
        for token in inside {
            if let Token::Text(text) = token
                && ["crate::", "self::", "super::"].iter().any(|start| text.starts_with(start))
            {
                module.attribute_paths.insert(text.split("::").map(str::to_owned).collect());
            }
        }
        let has = |word: &str| inside.iter().any(|token| token.is_word(word));
        inside.get(1).is_some_and(|token| token.is_word("cfg")) && has("test") && !has("not") && !has("any")
    }

    /// Stands behind the bracket that closes the one that is here.
    fn skip_group(&mut self) {
        let mut depth = 0;
        while let Some(token) = self.ahead(0) {
            match token {
                Token::Sign('{' | '(' | '[') => depth += 1,
                Token::Sign('}' | ')' | ']') => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
    }

    /// Skips an item, a statement, a field or a match arm, with its attributes.
    fn skip_item(&mut self) {
        while self.is_sign(0, '#') {
            self.at += 1;
            self.skip_group();
        }
        let (mut has_body, mut ends_at_comma) = (false, true);
        while let Some(token) = self.ahead(0).cloned() {
            match token {
                Token::Word(word) => match word.as_str() {
                    "fn" | "struct" | "enum" | "union" | "trait" | "impl" | "mod" | "macro_rules" | "extern" => {
                        (has_body, ends_at_comma) = (true, false);
                    }
                    "use" | "const" | "static" | "type" | "let" => ends_at_comma = false,
                    _ => {}
                },
                Token::Sign(';') => {
                    self.at += 1;
                    return;
                }
                Token::Sign(',') if ends_at_comma => {
                    self.at += 1;
                    return;
                }
                Token::Sign('}' | ')' | ']') => return,
                Token::Sign(sign @ ('{' | '(' | '[')) => {
                    self.skip_group();
                    if sign == '{' && (has_body || ends_at_comma) {
                        return;
                    }
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }
}

#[test]
fn imports_paths_and_items_are_read_without_tests() {
    let source = "
        mod child;
        pub(crate) use child::{Shared, nested::{self, Deep as Other}};
        use super::{Plain, all::*};
        #[cfg(test)]
        use crate::only::Tested;
        #[cfg(test)]
        fn helper<A, B>(a: A) -> crate::hidden::Thing { crate::hidden::f() }
        struct Own { #[cfg(test)] field: crate::hidden::Thing, #[serde(with = \"crate::text::floats\")] other: f32 }
        fn works() -> Own { let x = Plain::new().shared(crate::a::B::<C>::new()); macro_like!(super::d) }
        mod inner { pub const SIZE: usize = super::size(); }
        #[cfg(test)]
        mod tests { use crate::hidden::X; }";
    let read = declared(source);
    let path = |text: &str| -> Segments { text.split("::").map(str::to_owned).collect() };
    assert_eq!(read.files, [String::from("child")].into());
    assert_eq!(read.items, ["Own", "works"].map(str::to_owned).into());
    assert_eq!(read.imports["Other"], [path("child::nested::Deep")]);
    assert_eq!(read.imports["nested"], [path("child::nested")]);
    assert!(!read.imports.contains_key("Tested"));
    assert_eq!(read.private_imports, [path("super::Plain")]);
    assert_eq!(read.globs, [path("super::all")]);
    assert_eq!(read.attribute_paths, [path("crate::text::floats")].into());
    assert!(["Plain::new", "crate::a::B", "super::d"].iter().all(|used| read.paths.contains(&path(used))));
    assert!(read.paths.iter().all(|used| !used.contains(&"hidden".to_owned())), "{:?}", read.paths);
    assert!(read.inline["inner"].items.contains("SIZE") && read.inline["inner"].paths.contains(&path("super::size")));
}
