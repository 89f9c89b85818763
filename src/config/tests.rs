use std::path::Path;

use clap::Parser;

use super::*;
use crate::error::Chain;

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    given: GivenServe,
}

fn flags(flags: &[&str]) -> GivenServe {
    Command::try_parse_from(std::iter::once(&"serve").chain(flags)).unwrap().given
}

fn refusal(given: GivenServe) -> String {
    Serve::try_from(given).unwrap_err().to_string()
}

#[test]
fn without_anything_the_defaults_hold() {
    let serve = Serve::try_from(GivenServe::default()).unwrap();
    assert_eq!(serve.listen.to_string(), "127.0.0.1:8261");
    assert_eq!(serve.worker_expiry.as_millis(), 3_500);
    assert_eq!((serve.heartbeat.as_secs(), serve.leader_lease.as_secs()), (1, 2));
    assert_eq!(serve.log, LogSettings { format: LogFormat::Terminal, filter: "info".to_owned() });
}

#[test]
fn an_address_that_others_can_reach_needs_the_explicit_word() {
    for address in ["0.0.0.0:8261", "192.168.1.5:80", "[::]:8261"] {
        let text = refusal(flags(&["--listen", address]));
        assert!(text.starts_with(&format!("`listen` must not be {address}")), "{text}");
        let serve = Serve::try_from(flags(&["--listen", address, "--allow-unprotected-listen"])).unwrap();
        assert_eq!(serve.listen.to_string(), address);
    }
    Serve::try_from(flags(&["--listen", "[::1]:8261"])).unwrap();
    refusal(flags(&["--listen", "0.0.0.0:1", "--allow-unprotected-listen=false"]));
}

#[test]
fn every_refusal_names_the_field_and_the_value() {
    for (flag, value, field) in [
        ("--heartbeat", "10ms", "heartbeat"),
        ("--worker-expiry", "2s", "worker_expiry"),
        ("--leader-lease", "1ms", "leader_lease"),
        ("--delete-wait", "61s", "delete_wait"),
        ("--shutdown-grace", "0s", "shutdown_grace"),
        ("--retry-longest", "500ms", "retry_longest"),
        ("--worker-capacity", "0", "worker_capacity"),
        ("--subtask-memory", "1MiB", "subtask_memory"),
        ("--transaction-memory", "1GiB", "transaction_memory"),
        ("--name", "a b", "name"),
        ("--log-level", "fer=rymaster=x", "log_level"),
    ] {
        let text = refusal(flags(&[flag, value]));
        assert!(text.contains(&format!("`{field}`")) && text.contains(value), "{text}");
    }
}

#[test]
fn a_flag_that_is_no_value_of_its_kind_is_refused_by_name() {
    for (flag, value) in [("--heartbeat", "soon"), ("--listen", "here"), ("--log-format", "xml")] {
        let error = Command::try_parse_from(["serve", flag, value]).unwrap_err().to_string();
        assert!(error.contains(flag) && error.contains(value), "{error}");
    }
}

#[test]
fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ferrymaster.toml");
    std::fs::write(&file, "heartbeat = \"2s\"\nworker_expiry = \"9s\"\nlog_format = \"json\"\n").unwrap();
    let given = flags(&["--config", file.to_str().unwrap(), "--worker-expiry", "8s"]).with_file().unwrap();
    let serve = Serve::try_from(given).unwrap();
    assert_eq!((serve.heartbeat.as_secs(), serve.worker_expiry.as_secs()), (2, 8));
    assert_eq!(serve.log.format, LogFormat::Json);
}

#[test]
fn a_file_with_an_unknown_key_or_a_wrong_value_is_refused_with_its_place() {
    for (text, named) in [
        ("heart_beat = \"1s\"", "heart_beat"),
        ("heartbeat = \"soon\"", "`soon`"),
        ("listen = 5", "listen"),
        ("config = \"other\"", "config"),
    ] {
        let error = GivenServe::from_toml(Path::new("/etc/f.toml"), text).unwrap_err();
        let text = Chain(&error).to_string();
        assert!(text.contains("/etc/f.toml") && text.contains(named) && text.contains("line 1"), "{text}");
    }
    let missing = flags(&["--config", "/nowhere/f.toml"]).with_file().unwrap_err();
    assert!(missing.to_string().contains("/nowhere/f.toml"));
}
