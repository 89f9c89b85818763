//! There is no container engine where these tests run, so what can be checked without one is: that every word which the
//! Dockerfile and docker-compose.yml hand to the binary means something to it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails, and says why")]

use std::fs;
use std::path::Path;

use clap::Parser as _;
use ferrymaster::cli::{Command, CommandLine};
use ferrymaster::config::Serve;

fn text_of(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The settings that a list of words, as it stands in the file, leads to.
fn settings_of(list: &str) -> Serve {
    let words: Vec<String> = serde_json::from_str(list).expect("a list of quoted words");
    let line = CommandLine::try_parse_from(["ferrymaster".to_owned()].into_iter().chain(words));
    match line.unwrap_or_else(|error| panic!("{error}")).command {
        Command::Serve(given) => Serve::try_from(*given).unwrap_or_else(|error| panic!("{error}")),
        other => panic!("not `serve`: {other:?}"),
    }
}

#[test]
fn the_binary_takes_the_command_of_the_image() {
    let file = text_of("Dockerfile");
    let list = file.lines().find_map(|line| line.strip_prefix("CMD ")).unwrap();
    let settings = settings_of(list);
    assert!(settings.listen.ip().is_loopback(), "without a word about it, only the container itself is served");
    assert!(file.contains(&format!("EXPOSE {}", settings.listen.port())));
}

#[test]
fn the_binary_takes_the_command_of_the_composition_and_is_published_on_this_machine_only() {
    let file = text_of("docker-compose.yml");
    let list = file
        .lines()
        .find_map(|line| line.trim().strip_prefix("command: ").filter(|list| list.starts_with("[\"serve\"")));
    let settings = settings_of(list.unwrap());
    let port = settings.listen.port();
    assert!(settings.listen.ip().is_unspecified(), "a published port needs all addresses of the container");
    let published = file.lines().find_map(|line| line.trim().strip_prefix("ports: ")).unwrap();
    assert_eq!(published, format!("[\"127.0.0.1:{port}:{port}\"]"));
}

#[test]
fn the_image_is_built_by_a_compiler_that_is_new_enough() {
    let manifest = text_of("Cargo.toml");
    let needed = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    assert!(text_of("Dockerfile").contains(&format!("FROM rust:{needed}-")));
}
