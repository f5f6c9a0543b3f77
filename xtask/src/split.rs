//! Splits the module that draws in two: what the first picture needs, and the rest, which is fetched after it.
//!
//! Both parts are one program: the rest takes memory, table, globals and functions of the first part as its
//! imports, and puts its own functions into the table, where the first part calls them. Until it is there a
//! call to one of them traps, so the page asks only for what is there (`www/drawing.js`).

mod calls;
mod places;

use anyhow::{Context, Result, bail};
use calls::{local_functions, reached, roots};
use places::{call_by_table, empty_slots, fill_slots, slots};
use std::collections::{BTreeMap, BTreeSet};
use walrus::{ExportItem, FunctionId, FunctionKind, GlobalKind, ImportedFunction, Module};

/// What the rest's imports stand under.
const FIRST: &str = "first";

/// Exports that nothing on the way to the first picture calls.
const LATER_EXPORTS: [&str; 10] = [
    "csv",
    "draw_around",
    "file_stem",
    "heat_px",
    "heat_scale",
    "parameters",
    "readout",
    "summary",
    "svg",
    "table",
];
/// Methods of every chart that are wanted when it has been drawn.
const LATER_METHODS: [&str; 3] = ["readout", "summary", "table"];
const CHART: &str = " as longview::figure::chart::Chart>::";
const LATER: &str = " as longview::figure::settings::Later>::read";

/// A module in two parts.
pub struct Parts {
    pub first: Vec<u8>,
    pub rest: Vec<u8>,
}

/// Splits a module that still has the names of its functions.
pub fn split(wasm: &[u8]) -> Result<Parts> {
    let module = parse(wasm)?;
    let later = later_functions(&module);
    if later.is_empty() {
        bail!("no function of a later chart was found: have the traits in src/figure/ other names?");
    }
    cut(wasm, &later)
}

fn parse(wasm: &[u8]) -> Result<Module> {
    Module::from_buffer(wasm).context("the module cannot be read")
}

/// Functions that belong to the rest by their names; what only they use goes with them.
fn later_functions(module: &Module) -> BTreeSet<FunctionId> {
    let names = || {
        module
            .funcs
            .iter()
            .filter_map(|function| Some((function.id(), function.name.as_deref()?)))
    };
    let later_charts: BTreeSet<&str> = names()
        .filter_map(|(_, name)| Some(name.split_once(LATER)?.0))
        .collect();
    let is_later = |name: &str| {
        let Some((chart, method)) = name.split_once(CHART) else {
            return name.contains(LATER);
        };
        let method = method.split("::").next().unwrap_or_default();
        // Smaller methods may be one function for several charts.
        LATER_METHODS.contains(&method) || (method == "compose" && later_charts.contains(chart))
    };
    let by_name = names().filter(|(_, name)| is_later(name)).map(|(id, _)| id);
    let exported = LATER_EXPORTS
        .iter()
        .filter_map(|name| module.exports.get_func(name).ok());
    by_name.chain(exported).collect()
}

/// Cuts a module between the functions of `later` and everything else; what only they call goes with them.
fn cut(wasm: &[u8], later: &BTreeSet<FunctionId>) -> Result<Parts> {
    // Two readings of one file give equal numbers to equal functions.
    let (mut first, mut rest) = (parse(wasm)?, parse(wasm)?);
    let by_number = |module: &Module| -> BTreeMap<usize, FunctionId> {
        module.funcs.iter().map(|f| (f.id().index(), f.id())).collect()
    };
    let (in_first, in_rest) = (by_number(&first), by_number(&rest));
    let later: BTreeSet<usize> = later.iter().map(|id| id.index()).collect();

    let table = first
        .tables
        .main_function_table()?
        .context("the module has no table of functions")?;
    let mut slots = slots(&first, table)?;
    let roots = roots(&first, &slots);
    let kept = reached(&first, roots, &later);
    let moved: BTreeSet<usize> = local_functions(&first)
        .filter(|number| !kept.contains(number))
        .collect();

    // What the first part calls by name is called by way of the table.
    let called: Vec<usize> = kept.intersection(&later).copied().collect();
    let moved: BTreeSet<usize> = moved.union(&later).copied().collect();
    let mut next = slots.keys().next_back().map_or(0, |last| last + 1);
    for &number in &called {
        if !slots.values().any(|&other| other == number) {
            slots.insert(next, number);
            next += 1;
        }
    }
    let taken: BTreeMap<u32, usize> = slots
        .iter()
        .filter(|(_, number)| moved.contains(number))
        .map(|(&slot, &number)| (slot, number))
        .collect();

    for &number in &called {
        let slot = taken
            .iter()
            .find(|(_, other)| **other == number)
            .map(|(&slot, _)| slot);
        call_by_table(
            &mut first,
            in_first[&number],
            table,
            slot.context("a function without a slot")?,
        );
    }
    empty_slots(&mut first, table, &taken, u64::from(next));
    fill_slots(&mut rest, &taken, &in_rest, u64::from(next))?;
    share(&mut first, &mut rest, &moved, [&in_first, &in_rest]);
    walrus::passes::gc::run(&mut first);
    Ok(Parts {
        first: first.emit_wasm(),
        rest: rest.emit_wasm(),
    })
}

/// Makes imports of the rest, and exports of the first part, of everything that the rest uses of it.
fn share(
    first: &mut Module,
    rest: &mut Module,
    moved: &BTreeSet<usize>,
    [in_first, in_rest]: [&BTreeMap<usize, FunctionId>; 2],
) {
    // What the whole module imports is imported by its first part, whose exports the rest takes.
    let imports: Vec<_> = rest.imports.iter().map(|import| import.id()).collect();
    for id in imports {
        rest.imports.delete(id);
    }
    let mut shared: Vec<ExportItem> = Vec::new();
    let mut name = |item: ExportItem| {
        shared.push(item);
        (shared.len() - 1).to_string()
    };
    for (number, &there) in in_rest.iter().filter(|(number, _)| !moved.contains(number)) {
        let ty = rest.funcs.get(there).ty();
        let import = rest
            .imports
            .add(FIRST, &name(ExportItem::Function(in_first[number])), there);
        rest.funcs.get_mut(there).kind = FunctionKind::Import(ImportedFunction { import, ty });
    }
    let globals: Vec<_> = rest.globals.iter().map(|global| global.id()).collect();
    for (here, there) in first.globals.iter().zip(globals) {
        let import = rest
            .imports
            .add(FIRST, &name(ExportItem::Global(here.id())), there);
        rest.globals.get_mut(there).kind = GlobalKind::Import(import);
    }
    for (here, there) in first.tables.iter().zip(rest.tables.iter_mut()) {
        there.import = Some(
            rest.imports
                .add(FIRST, &name(ExportItem::Table(here.id())), there.id()),
        );
    }
    for (here, there) in first.memories.iter().zip(rest.memories.iter_mut()) {
        there.import = Some(
            rest.imports
                .add(FIRST, &name(ExportItem::Memory(here.id())), there.id()),
        );
    }
    walrus::passes::gc::run(rest);
    // An export keeps alive what it names.
    for import in rest.imports.iter() {
        if let Some(item) = import
            .name
            .parse()
            .ok()
            .and_then(|index: usize| shared.get(index))
        {
            first.exports.add(&import.name, *item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{find_program, output};
    use std::process::Command;
    use walrus::{ConstExpr, ElementItems, ElementKind, FunctionBuilder, RefType, ValType, ir};

    /// A function without parameters that gives the sum of a number and of what others give.
    fn sum(module: &mut Module, name: &str, number: i32, calls: &[FunctionId]) -> FunctionId {
        let mut builder = FunctionBuilder::new(&mut module.types, &[], &[ValType::I32]);
        builder.name(name.to_owned());
        let mut body = builder.func_body();
        body.i32_const(number);
        for &call in calls {
            body.call(call).binop(ir::BinaryOp::I32Add);
        }
        builder.finish(Vec::new(), &mut module.funcs)
    }

    /// `entry` (1) calls `shared` (10) and a chart's `readout` (100), which calls `shared` and `helper` (1000).
    fn example() -> Vec<u8> {
        let mut module = Module::default();
        let shared = sum(&mut module, "shared", 10, &[]);
        let helper = sum(&mut module, "helper", 1000, &[]);
        let readout = "<longview::figure::waves::Waves as longview::figure::chart::Chart>::readout";
        let readout = sum(&mut module, readout, 100, &[shared, helper]);
        let entry = sum(&mut module, "entry", 1, &[shared, readout]);
        let table = module.tables.add_local(false, 2, Some(2), RefType::FUNCREF);
        let offset = ConstExpr::Value(ir::Value::I32(1));
        let items = ElementItems::Functions(vec![readout]);
        let segment = module.elements.add(ElementKind::Active { table, offset }, items);
        module.tables.get_mut(table).elem_segments.insert(segment);
        module.exports.add("entry", entry);
        module.exports.add("summary", helper);
        module.emit_wasm()
    }

    fn names(wasm: &[u8]) -> Vec<String> {
        let module = parse(wasm).unwrap();
        let names = module
            .funcs
            .iter_local()
            .filter_map(|(id, _)| module.funcs.get(id).name.clone());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn what_only_later_functions_call_goes_with_them() {
        let parts = split(&example()).unwrap();
        let rest = names(&parts.rest);
        assert_eq!(rest.len(), 2, "{rest:?}");
        assert!(
            rest.iter().any(|name| name == "helper") && rest.iter().any(|name| name.ends_with("readout"))
        );
        assert!(names(&parts.first).iter().any(|name| name == "shared"));
        assert!(split(&parts.rest[..8]).is_err());
    }

    #[test]
    fn the_parts_together_are_the_whole() {
        let parts = split(&example()).unwrap();
        let folder = crate::workspace::target_folder().join("xtask/split");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("first.wasm"), &parts.first).unwrap();
        std::fs::write(folder.join("rest.wasm"), &parts.rest).unwrap();
        let script = r#"
            const { readFileSync } = require("fs");
            const load = async (file, imports) => (await WebAssembly.instantiate(readFileSync(file), imports)).instance.exports;
            (async () => {
                const first = await load("first.wasm", {});
                const said = [];
                for (const name of ["entry", "summary"]) try { first[name](); } catch (error) { said.push(error.constructor.name); }
                await load("rest.wasm", { first });
                console.log(...said, first.entry(), first.summary());
            })();"#;
        let mut node = Command::new(find_program(&["node"]).unwrap());
        node.current_dir(&folder).args(["-e", script]);
        assert_eq!(output(&mut node).unwrap(), "RuntimeError RuntimeError 1121 1000");
    }
}
