//! The command line: what it says, and what each command runs. Never here: what a command does.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::config::GivenServe;

/// Migrates live MySQL-family databases, exactly once: a full copy first, then the binlog, until you switch over.
/// Operated through a REST API that clients of DM's OpenAPI v1 can use unchanged
#[derive(Debug, Parser)]
#[command(name = "ferrymaster", version, propagate_version = true, max_term_width = 100)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run everything in one process: the API, the scheduler and one worker; metadata in SQLite
    ///
    /// Every setting can be a flag, an environment variable (FERRYMASTER_…) or a key of the file that --config names;
    /// a flag wins over the environment, and both over the file. SIGTERM and SIGINT stop it cleanly: what runs is closed
    /// with its progress saved, and goes on with the next start.
    #[command(after_help = "Once it runs, http://127.0.0.1:8261/api/v1/docs shows the API and lets you try it; \
                            /readyz says whether it serves, /metrics how it does.")]
    Serve(Box<GivenServe>),

    /// Write the API's description: openapi.json (OpenAPI 3.1) and dm.json (3.0.3, for DM's generators)
    Openapi {
        /// Where the two files are written
        #[arg(long, value_name = "DIR", default_value = "openapi")]
        dir: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn the_help_names_every_setting_and_its_environment_variable() {
        let mut command = CommandLine::command();
        let serve = command.find_subcommand_mut("serve").unwrap();
        let help = serve.render_long_help().to_string();
        for argument in serve.get_arguments().filter(|argument| argument.get_long() != Some("help")) {
            let Some(long) = argument.get_long().filter(|long| *long != "version") else { continue };
            assert!(help.contains(&format!("--{long}")), "{long}");
            let variable = format!("FERRYMASTER_{}", long.replace('-', "_").to_uppercase());
            assert!(help.contains(&variable), "{variable}");
        }
        assert!(help.contains("127.0.0.1:8261"));
    }
}
