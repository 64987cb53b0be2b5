//! Import cycles among the files of one folder.
//!
//! A file uses another one if its code names an item that the other one defines: re-exports are followed to the definition, and a
//! re-export alone uses nothing. In each folder, a folder inside counts as one file, and the folder's own file (`mod.rs`)
//! counts with what it does beside declarations and re-exports.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::Path,
};

use crate::declared::{Declared, Segments, declared};

/// Files of one folder each of which uses all others, through others of them.
#[derive(Debug)]
pub struct Cycle {
    /// The folder below the crate's sources: `ops/kernels`, or nothing for the crate's root.
    pub folder: String,
    /// Names of the files and folders; `mod` is the folder's own file.
    pub members: BTreeSet<String>,
    /// Uses between the members: who, whom, and by which paths.
    pub uses: BTreeMap<(String, String), BTreeSet<String>>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<&str> = self.members.iter().map(String::as_str).collect();
        write!(f, "{}: {} files use each other: {}", self.folder, members.len(), members.join(", "))?;
        for ((user, used), paths) in &self.uses {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            write!(f, "\n    {user} -> {used}: {}", paths.join(", "))?;
        }
        Ok(())
    }
}

/// Returns the cycles in the sources of a crate, a folder on the disk.
pub fn cycles_in(sources: &Path) -> Vec<Cycle> {
    cycles(&|file| fs::read_to_string(sources.join(file)).ok())
}

/// Returns the cycles of a crate whose files are read by `read`.
pub fn cycles(read: &dyn Fn(&str) -> Option<String>) -> Vec<Cycle> {
    let mut tree = Tree { modules: Vec::new() };
    let root = declared(&read("lib.rs").unwrap());
    tree.add(root, None, Vec::new(), true, read);
    tree.cycles()
}

struct Module {
    names: Declared,
    parent: Option<usize>,
    /// Path of the module in a file of its own that this one is, or is inside of.
    file: Segments,
    children: BTreeMap<String, usize>,
}

/// Target of a path.
#[derive(Clone, Copy)]
enum Target {
    Module(usize),
    /// An item of that module.
    Item(usize),
    /// Something of another crate.
    Foreign,
}

struct Tree {
    modules: Vec<Module>,
}

impl Tree {
    fn add(
        &mut self,
        mut names: Declared,
        parent: Option<usize>,
        file: Segments,
        is_file: bool,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> usize {
        let inline = std::mem::take(&mut names.inline);
        let files = if is_file { std::mem::take(&mut names.files) } else { BTreeSet::new() };
        let own = self.modules.len();
        self.modules.push(Module { names, parent, file: file.clone(), children: BTreeMap::new() });
        for (name, inner) in inline {
            let child = self.add(inner, Some(own), file.clone(), false, read);
            self.modules[own].children.insert(name, child);
        }
        for name in files {
            let path = [file.as_slice(), std::slice::from_ref(&name)].concat();
            let stem = path.join("/");
            let text = read(&format!("{stem}.rs")).or_else(|| read(&format!("{stem}/mod.rs")));
            assert!(text.is_some(), "no file of module {stem}");
            let child = self.add(declared(&text.unwrap()), Some(own), path, true, read);

            self.modules[own].children.insert(name, child);
        }
        own
    }

    /// Follows a path that is written in a module.
    fn resolve(&self, module: usize, path: &[String], depth: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let mut target = match first.as_str() {
            "crate" => Target::Module(0),
            "self" => Target::Module(module),
            "super" => Target::Module(self.modules[module].parent?),
            name => self.look_up(module, name, rest.is_empty(), depth)?,
        };
        for (at, name) in rest.iter().enumerate() {
            let Target::Module(inside) = target else { break };
            target = match name.as_str() {
                "super" => Target::Module(self.modules[inside].parent?),
                // A name that no line declares is made by a macro.
                name => self.look_up(inside, name, at + 1 == rest.len(), depth).unwrap_or(Target::Item(inside)),
            };
        }
        Some(target)
    }

    /// Returns what a name stands for in a module, if it is known there.
    fn look_up(&self, module: usize, name: &str, is_last: bool, depth: usize) -> Option<Target> {
        if depth > 16 {
            return None;
        }
        let Module { names, children, .. } = &self.modules[module];
        let child = children.get(name).map(|&child| Target::Module(child));
        if !is_last && child.is_some() {
            return child;
        }
        if names.items.contains(name) {
            return Some(Target::Item(module));
        }
        if let Some(paths) = names.imports.get(name) {
            let target = paths.iter().find_map(|path| self.resolve(module, path, depth + 1));
            return Some(target.unwrap_or(Target::Foreign));
        }
        let known = |glob: &Segments| match self.resolve(module, glob, depth + 1)? {
            Target::Module(inside) if inside != module => self.look_up(inside, name, is_last, depth + 1),
            _ => None,
        };
        child.or_else(|| names.globs.iter().find_map(known))
    }

    /// Uses between files, by the paths that make them.
    fn uses(&self) -> BTreeMap<(&Segments, &Segments), BTreeSet<String>> {
        let mut uses: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for (own, module) in self.modules.iter().enumerate() {
            let names = &module.names;
            let items = names.private_imports.iter().chain(&names.globs).chain(&names.paths);
            let items = items.map(|path| (path, false));
            for (path, may_be_module) in items.chain(names.attribute_paths.iter().map(|path| (path, true))) {
                let used = match self.resolve(own, path, 0) {
                    Some(Target::Item(used)) => used,
                    Some(Target::Module(used)) if may_be_module => used,
                    _ => continue,
                };
                let used = &self.modules[used].file;
                if *used != module.file {
                    uses.entry((&module.file, used)).or_default().insert(path.join("::"));
                }
            }
        }
        uses
    }

    fn cycles(&self) -> Vec<Cycle> {
        let mut folders: BTreeMap<String, BTreeMap<(String, String), BTreeSet<String>>> = BTreeMap::new();
        for ((user, used), paths) in self.uses() {
            let shared = user.iter().zip(used).take_while(|(user, used)| user == used).count();
            let member = |file: &Segments| file.get(shared).cloned().unwrap_or_else(|| "mod".to_owned());
            let uses = folders.entry(user[..shared].join("/")).or_default();
            uses.entry((member(user), member(used))).or_default().extend(paths);
        }
        let mut cycles = Vec::new();
        for (folder, uses) in folders {
            for members in components(uses.keys()) {
                let inside = |(user, used): &(String, String)| members.contains(user) && members.contains(used);
                let uses = uses.iter().filter(|(pair, _)| inside(pair));
                let uses = uses.map(|(pair, paths)| (pair.clone(), paths.clone())).collect();
                cycles.push(Cycle { folder: folder.clone(), members, uses });
            }
        }
        cycles
    }
}

/// Returns the sets of two or more names that reach each other.
fn components<'a>(uses: impl Iterator<Item = &'a (String, String)>) -> Vec<BTreeSet<String>> {
    let mut used_by: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (user, used) in uses {
        used_by.entry(user).or_default().insert(used);
    }
    let reached_from = |start: &str| {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(name) = open.pop() {
            for next in used_by.get(name).into_iter().flatten() {
                if reached.insert(*next) {
                    open.push(next);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> = used_by.keys().map(|name| (*name, reached_from(name))).collect();
    let both = |one: &str, other: &str| reached[one].contains(other) && reached[other].contains(one);
    let mut found = BTreeSet::new();
    for name in reached.keys() {
        let members: BTreeSet<String> =
            reached.keys().filter(|other| both(name, other)).map(|name| (*name).to_owned()).collect();
        if members.len() > 1 {
            found.insert(members);
        }
    }
    found.into_iter().collect()
}

/// Folder and members of each cycle in a crate that is written down here.
#[cfg(test)]
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    let cycles = cycles(&|file| files.get(file).map(|text| (*text).to_owned()));
    let members = |cycle: &Cycle| cycle.members.iter().cloned().collect::<Vec<_>>().join(" ");
    cycles.iter().map(|cycle| format!("{}: {}", cycle.folder, members(cycle))).collect()
}

#[test]
fn a_cycle_is_found_through_reexports_groups_and_inline_paths() {
    let files = [
        ("lib.rs", "pub mod a;"),
        (
            "a/mod.rs",
            "mod one; mod two; mod three; mod alone; pub use one::One; pub use two::{Two, other}; pub use three::*;",
        ),
        ("a/one.rs", "use super::{Two}; use super::alone::Alone; pub struct One(Two, Alone);"),
        ("a/two.rs", "pub struct Two; pub fn other() { crate::a::third(); }"),
        ("a/three.rs", "pub fn third() -> super::One { panic!() }"),
        ("a/alone.rs", "pub struct Alone;"),
    ];
    assert_eq!(found(&files), ["a: one three two"]);
}

#[test]
fn declarations_tests_and_uses_in_one_direction_are_no_cycle() {
    let files = [
        ("lib.rs", "pub mod a; pub mod b;"),
        ("a/mod.rs", "mod one; mod two; pub use one::One; pub use two::two;"),
        ("a/one.rs", "pub struct One; #[cfg(test)] mod tests { use super::super::two; }"),
        ("a/two.rs", "use super::One; #[cfg(test)] use super::inner; pub fn two(one: One) { one.two() }"),
        ("b.rs", "//! Uses [`crate::a`].\npub fn b() -> &'static str { crate::a::two(); \"crate::c\" }"),
    ];
    assert!(found(&files).is_empty(), "{:?}", found(&files));
}

#[test]
fn a_folder_is_one_member_and_its_own_code_is_another() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod inner; mod low; pub use low::Low; pub struct Shared; pub fn run() { inner::work(); }"),
        ("a/inner.rs", "use super::Shared; pub fn work() { crate::b::b(); }"),
        ("a/low.rs", "pub struct Low;"),
        ("b.rs", "pub fn b(low: crate::a::Low) {}"),
    ];
    assert_eq!(found(&files), [": a b", "a: inner mod"]);
}
