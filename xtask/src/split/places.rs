//! The table of functions, through which the two parts call each other.

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir;
use walrus::{
    ConstExpr, ElementItems, ElementKind, FunctionBuilder, FunctionId, FunctionKind, Module, TableId,
};

/// The functions of a table by their places.
pub fn slots(module: &Module, table: TableId) -> Result<BTreeMap<u32, usize>> {
    let mut slots = BTreeMap::new();
    for segment in module.elements.iter() {
        let ElementKind::Active { table: of, offset } = &segment.kind else {
            continue;
        };
        if *of != table {
            continue;
        }
        let (ConstExpr::Value(ir::Value::I32(offset)), ElementItems::Functions(functions)) =
            (offset, &segment.items)
        else {
            bail!("a table is filled in a way that splitting does not know");
        };
        for (index, function) in functions.iter().enumerate() {
            slots.insert(u32::try_from(*offset)? + u32::try_from(index)?, function.index());
        }
    }
    Ok(slots)
}

/// Makes a function one that calls what stands in a table.
pub fn call_by_table(module: &mut Module, function: FunctionId, table: TableId, slot: u32) {
    let ty = module.funcs.get(function).ty();
    let (parameters, results) = {
        let ty = module.types.get(ty);
        (ty.params().to_vec(), ty.results().to_vec())
    };
    let arguments: Vec<_> = parameters.iter().map(|&ty| module.locals.add(ty)).collect();
    let mut builder = FunctionBuilder::new(&mut module.types, &parameters, &results);
    let mut body = builder.func_body();
    for &argument in &arguments {
        body.local_get(argument);
    }
    body.i32_const(slot as i32).call_indirect(ty, table);
    module.funcs.get_mut(function).kind = FunctionKind::Local(builder.local_func(arguments));
}

/// Puts a function that traps where the rest will put its own.
pub fn empty_slots(module: &mut Module, table: TableId, taken: &BTreeMap<u32, usize>, size: u64) {
    let mut builder = FunctionBuilder::new(&mut module.types, &[], &[]);
    builder.func_body().unreachable();
    let missing = builder.finish(Vec::new(), &mut module.funcs);
    let moved: BTreeSet<usize> = taken.values().copied().collect();
    for segment in module.elements.iter_mut() {
        if let ElementItems::Functions(functions) = &mut segment.items {
            for function in functions
                .iter_mut()
                .filter(|function| moved.contains(&function.index()))
            {
                *function = missing;
            }
        }
    }
    enlarge(module, table, size);
}

pub fn enlarge(module: &mut Module, table: TableId, size: u64) {
    let table = module.tables.get_mut(table);
    let size = size.max(table.initial);
    (table.initial, table.maximum) = (size, table.maximum.map(|most| most.max(size)));
}

/// Leaves of a module's contents only what fills those places of its table.
pub fn fill_slots(
    module: &mut Module,
    taken: &BTreeMap<u32, usize>,
    functions: &BTreeMap<usize, FunctionId>,
    size: u64,
) -> Result<()> {
    let table = module
        .tables
        .main_function_table()?
        .context("the module has no table of functions")?;
    let segments: Vec<_> = module.elements.iter().map(|segment| segment.id()).collect();
    for id in segments {
        module.elements.delete(id);
    }
    let datas: Vec<_> = module.data.iter().map(|data| data.id()).collect();
    for id in datas {
        module.data.delete(id);
    }
    let exports: Vec<_> = module.exports.iter().map(|export| export.id()).collect();
    for id in exports {
        module.exports.delete(id);
    }
    module.start = None;
    for table in module.tables.iter_mut() {
        table.elem_segments.clear();
    }
    enlarge(module, table, size);
    for memory in module.memories.iter_mut() {
        memory.data_segments.clear();
    }
    // One segment for each run of places.
    let mut runs: Vec<(u32, Vec<FunctionId>)> = Vec::new();
    for (&slot, number) in taken {
        let function = functions[number];
        match runs.last_mut() {
            Some((start, run)) if *start + run.len() as u32 == slot => run.push(function),
            _ => runs.push((slot, vec![function])),
        }
    }
    for (start, run) in runs {
        let offset = ConstExpr::Value(ir::Value::I32(i32::try_from(start)?));
        let segment = module.elements.add(
            ElementKind::Active { table, offset },
            ElementItems::Functions(run),
        );
        module.tables.get_mut(table).elem_segments.insert(segment);
    }
    Ok(())
}
