//! What is checked beside the tests: the page's scripts in Node.

use crate::install;
use crate::workspace::{command, root, run};
use anyhow::Result;

const FOLDER: &str = "tests/scripts";

/// Properties of the scripts that need no browser, under made-up input.
pub fn scripts() -> Result<()> {
    install::npm_packages(FOLDER)?;
    run(command("node", &["--test"]).current_dir(root().join(FOLDER)))
}
