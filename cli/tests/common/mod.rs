//! Running the program as a user does.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program, from the root of the repository.
fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_longview"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .args(arguments)
        .output()
        .unwrap()
}

/// The output of a run that must succeed.
pub fn good(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The error of a run that must fail, without a panic and with nothing on the output.
pub fn bad(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{arguments:?} succeeded");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert!(
        !errors.contains("panicked") && errors.contains("error: "),
        "{errors}"
    );
    errors
}

/// What the program writes as JSON.
pub fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&good(arguments)).unwrap()
}
