//! The binary: reads the command line, and hands over.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use ferrymaster::cli::{Command, CommandLine};
use ferrymaster::config::{GivenServe, Serve};
use ferrymaster::{api, master, telemetry};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[expect(clippy::print_stderr, reason = "the last word of a failed command goes to the terminal")]
fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    // One provider of TLS in the whole process, before anything can shake hands.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        eprintln!("error: another provider of TLS is installed already");
        return ExitCode::FAILURE;
    }
    #[cfg(feature = "failpoints")]
    let _armed = ferrymaster::faults::arm();
    let done = match command_line.command {
        Command::Serve(given) => serve(*given),
        Command::Openapi { dir } => write_documents(&dir),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve(given: GivenServe) -> anyhow::Result<()> {
    let settings = Serve::try_from(given.with_file()?)?;
    telemetry::begin_logging(&settings.log)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the runtime")?;
    let grace = settings.shutdown_grace;
    let served = runtime.block_on(master::serve(settings));
    // What was dropped in the middle of a blocking call is not waited for without an end.
    runtime.shutdown_timeout(grace.min(std::time::Duration::from_secs(2)));
    Ok(served?)
}

fn write_documents(dir: &std::path::Path) -> anyhow::Result<()> {
    let documents = api::documents()?;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    for (name, text) in [("openapi.json", &documents.openapi_31), ("dm.json", &documents.dm_30)] {
        let path = dir.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
