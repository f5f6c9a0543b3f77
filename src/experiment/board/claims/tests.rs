use super::*;
use std::collections::BTreeSet;

#[test]
fn names_are_unlike_and_all_measure_something() {
    let mut names = BTreeSet::new();
    for quick in [false, true] {
        let options = Options {
            quick,
            own: true,
            ..Options::default()
        };
        for claim in CLAIMS {
            names.insert(claim.id());
            let tasks = claim.tasks(&options);
            let keys: BTreeSet<String> = tasks.iter().map(Task::key).collect();
            assert!(!tasks.is_empty() && keys.len() == tasks.len(), "{}", claim.id());
            for task in tasks {
                assert!(
                    crate::experiment::board::config_by_name(task.model()).is_some()
                        || ["kerple", "sandwich", "xpos", "randomized"].contains(&task.model()),
                    "{task}"
                );
            }
            // Nothing measured gives no verdict, and a table whose rows all have its columns.
            let finding = claim.finding(&options, &Results::default());
            assert_eq!(
                finding.verdict,
                super::super::Verdict::Unmeasured,
                "{}",
                claim.id()
            );
            for table in [finding.table, claim.paper()] {
                assert!(
                    table.rows.iter().all(|row| row.len() == table.columns.len()),
                    "{}",
                    claim.id()
                );
            }
        }
    }
    assert_eq!(names.len(), CLAIMS.len());
    assert!(CLAIMS.iter().all(|listed| claim(listed.id()).is_some()) && claim("nothing").is_none());
}

#[test]
fn claims_share_their_tasks() {
    let options = Options::default();
    let keys = |id: &str| -> BTreeSet<String> {
        let tasks = claim(id).map(|claim| claim.tasks(&options)).unwrap_or_default();
        tasks.iter().map(Task::key).collect()
    };
    assert!(keys("alibi").intersection(&keys("trained_slopes")).count() >= 5);
    assert!(keys("scale").is_subset(&keys("alibi").union(&keys("sinusoidal")).cloned().collect()));
}
