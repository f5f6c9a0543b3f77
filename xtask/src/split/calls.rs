//! Which functions call which.

use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::{self, Visitor};
use walrus::{ExportItem, FunctionId, LocalFunction, Module};

pub fn local_functions(module: &Module) -> impl Iterator<Item = usize> {
    module.funcs.iter_local().map(|(id, _)| id.index())
}

/// What is called from outside: exports, the start, and the functions in the table.
pub fn roots(module: &Module, slots: &BTreeMap<u32, usize>) -> Vec<usize> {
    let exported = module.exports.iter().filter_map(|export| match export.item {
        ExportItem::Function(id) => Some(id.index()),
        _ => None,
    });
    let start = module.start.map(|id| id.index());
    exported.chain(start).chain(slots.values().copied()).collect()
}

/// The functions that can be reached from the roots without going through one of `later`; those of `later`
/// that are called by name are among them, those that only stand in the table are not.
pub fn reached(module: &Module, roots: Vec<usize>, later: &BTreeSet<usize>) -> BTreeSet<usize> {
    struct Calls(Vec<usize>);
    impl Visitor<'_> for Calls {
        fn visit_function_id(&mut self, function: &FunctionId) {
            self.0.push(function.index());
        }
    }
    let exported: BTreeSet<usize> = module
        .exports
        .iter()
        .filter_map(|export| match export.item {
            ExportItem::Function(id) => Some(id.index()),
            _ => None,
        })
        .collect();
    let bodies: BTreeMap<usize, &LocalFunction> = module
        .funcs
        .iter_local()
        .map(|(id, function)| (id.index(), function))
        .collect();
    let mut waiting: Vec<usize> = roots
        .into_iter()
        .filter(|root| !later.contains(root) || exported.contains(root))
        .collect();
    let mut reached = BTreeSet::new();
    while let Some(number) = waiting.pop() {
        if !reached.insert(number) || later.contains(&number) {
            continue;
        }
        if let Some(body) = bodies.get(&number) {
            let mut calls = Calls(Vec::new());
            ir::dfs_in_order(&mut calls, body, body.entry_block());
            waiting.append(&mut calls.0);
        }
    }
    reached
}
