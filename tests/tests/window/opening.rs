//! A store that cannot be opened: what the window says, and the ways out.

use std::fs;

use headroom_engine::store::{OpenMode, Store};
use headroom_tests::{Screen, execute, hold};
use tempfile::TempDir;

use crate::common::store;

#[test]
fn a_store_is_opened_beside_the_window() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::program(&store(&folder));
    screen.wait("the window", Screen::is_open);
    screen.wait_for("Nothing has been trained in this store yet.");
    screen.close();
}

#[test]
fn a_file_that_is_no_store_is_left_alone_and_another_can_be_opened() {
    let folder = TempDir::new().unwrap();
    let path = store(&folder);
    let text = "This is a letter to the editor and no database at all.";
    fs::write(&path, text).unwrap();
    let mut screen = Screen::program(&path);
    screen.wait_for("The file is not a store");
    assert!(screen.says("It is not an SQLite database.") && screen.has(&path.display().to_string()));
    screen.click("Try again");
    screen.wait_for("The file is not a store");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert!(!screen.is_enabled("Open that store"));
    let other = folder.path().join("elsewhere");
    fs::create_dir(&other).unwrap();
    screen.fill("Path of another store", &other.display().to_string());
    screen.click("Open that store");
    screen.wait("the window", Screen::is_open);
    screen.wait_for("elsewhere");
    assert!(other.join("headroom.db").is_file(), "a folder gets a store of its own");
    screen.close();
}

#[test]
fn a_damaged_store_says_so_and_opens_once_it_is_mended() {
    let folder = TempDir::new().unwrap();
    let path = store(&folder);
    drop(Store::open(&path, OpenMode::ReadWrite).unwrap());
    let good = fs::read(&path).unwrap();
    let mut bad = good.clone();
    bad.truncate(good.len() / 2);
    bad[100..].fill(0x5a);
    fs::write(&path, &bad).unwrap();
    let mut screen = Screen::program(&path);
    screen.wait_for("The store is damaged");
    assert!(screen.says("Restore a backup of the file and try again") && screen.has("Choose another store…"));
    screen.click("Quit");
    assert!(screen.wants_to_close());
    fs::write(&path, &good).unwrap();
    screen.click("Try again");
    screen.wait("the window", Screen::is_open);
    screen.close();
}

#[test]
fn a_store_of_a_newer_program_is_told_from_a_damaged_one() {
    let folder = TempDir::new().unwrap();
    let path = store(&folder);
    drop(Store::open(&path, OpenMode::ReadWrite).unwrap());
    execute(
        &path,
        "UPDATE _sqlx_migrations SET version = 999999 WHERE version = (SELECT MAX(version) FROM _sqlx_migrations)",
    );
    let mut screen = Screen::program(&path);
    screen.wait_for("The store was made by a newer Headroom");
    assert!(screen.says("Its format is 999999") && screen.says("Update Headroom"));
}

#[test]
fn a_locked_store_opens_once_it_is_free() {
    let folder = TempDir::new().unwrap();
    let path = store(&folder);
    drop(Store::open(&path, OpenMode::ReadWrite).unwrap());
    let holder = hold(&path);
    let mut screen = Screen::program(&path);
    screen.wait_for("Opening the store…");
    screen.wait_for("The store is locked");
    assert!(screen.says("Close that program"));
    drop(holder);
    screen.click("Try again");
    screen.wait("the window", Screen::is_open);
    screen.close();
}
