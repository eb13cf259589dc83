//! Dividing the rows of a node: two sides by labels, and a classifier that tells them by features.

use super::params::Params;
use super::sides::Sides;
use crate::algorithms::craftml::{Division, Grower, NodeRows, Scratch};
use crate::base::random::Stream;
use crate::learn::solver::{SparseParams, SparseWorkspace};
use std::sync::{Mutex, PoisonError};

/// Divides rows by the rankings of their labels.
pub(super) struct Rankings {
    solver: SparseParams,
    /// Memory that is reused, for each thread that works.
    workspaces: Mutex<Vec<Workspace>>,
}

#[derive(Default)]
struct Workspace {
    sides: Sides,
    solving: SparseWorkspace,
}

impl Rankings {
    pub(super) fn new(params: &Params) -> Self {
        let cost = f64::from(params.cost);
        let solver = SparseParams { cost, iterations: 1, tolerance: 0.0 };
        Rankings { solver, workspaces: Mutex::default() }
    }

    fn workspaces(&self) -> std::sync::MutexGuard<'_, Vec<Workspace>> {
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Division for Rankings {
    fn divide(
        &self,
        grower: &Grower<'_>,
        _order: &[u32],
        node: &NodeRows<'_>,
        seed: u64,
        scratch: &mut Scratch,
    ) {
        let Some(labels) = &node.labels else {
            unreachable!("labels that are not projected are always there")
        };
        let mut workspace = self.workspaces().pop().unwrap_or_default();
        let Workspace { sides, solving } = &mut workspace;
        let random = &mut Stream::new(seed);
        let is_second = sides.divide(labels.view(), labels.columns.len(), random);
        let (rows, columns) = (node.features.view(), node.features.columns.len());
        let weights = solving.solve(rows, columns, is_second, &self.solver);
        scratch.divide_by(grower, rows, weights);
        self.workspaces().push(workspace);
    }
}
