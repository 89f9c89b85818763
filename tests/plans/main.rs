//! Stories of the scheduler: each file beside this one holds worlds in words and the plans that must follow.
//!
//! A file is a list of cases. A case is a title (`# …`), a world, a line `=>`, and the plan. With `UPDATE_PLANS=1` the
//! plans are written anew; the diff is for review. Times are seconds; `words.rs` says what the words mean.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may stop at once")]

mod properties;
mod words;

use std::fmt::Write as _;
use std::path::Path;

use ferrymaster::scheduler;

fn cases(text: &str) -> Vec<(String, String, String)> {
    text.split("\n# ")
        .map(|case| case.trim_start_matches("# "))
        .filter(|case| !case.trim().is_empty())
        .map(|case| {
            let (title, rest) = case.split_once('\n').expect("a title and a world");
            let (world, plan) = rest.split_once("=>\n").unwrap_or((rest, ""));
            (title.trim().to_owned(), world.trim().to_owned(), plan.trim().to_owned())
        })
        .collect()
}

fn plan_of(world: &str) -> String {
    let (world, now_us) = words::world(world);
    let plan = scheduler::plan(&world, now_us);
    let mut text = String::new();
    for step in &plan.steps {
        writeln!(text, "{step}").unwrap();
    }
    if let Some(wake_us) = plan.wake_us {
        writeln!(text, "wake at {}s", wake_us / 1_000_000).unwrap();
    }
    if text.is_empty() {
        text.push_str("nothing\n");
    }
    text.trim().to_owned()
}

#[test]
fn every_story_ends_as_written() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let update = std::env::var_os("UPDATE_PLANS").is_some();
    let mut wrong = String::new();
    let mut count = 0;
    let mut files: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "txt")) {
        let text = std::fs::read_to_string(file).unwrap();
        let mut written = String::new();
        for (title, world, expected) in cases(&text) {
            count += 1;
            let plan = plan_of(&world);
            writeln!(written, "# {title}\n{world}\n=>\n{plan}\n").unwrap();
            if plan != expected {
                writeln!(wrong, "{}: {title}\n--- expected\n{expected}\n--- got\n{plan}\n", file.display()).unwrap();
            }
        }
        if update {
            std::fs::write(file, written.trim_end().to_owned() + "\n").unwrap();
        }
    }
    assert!(count > 20, "only {count} cases were found");
    assert!(update || wrong.is_empty(), "{wrong}");
}
