//! What each feature of a row adds to the margin of a child.

use super::nodes::{Child, Nodes};

impl Nodes {
    /// The bias of a node's child, and what each feature of a row adds to its margin, in the order of the
    /// features. Added to the bias one after the other, they give the margin that scoring computes.
    pub(crate) fn contributions(
        &self,
        node: usize,
        child: usize,
        (columns, factors): (&[u32], &[f32]),
    ) -> (f32, Vec<(u32, f32)>) {
        let (features, ends) = (self.features_of(node), self.ends_of(node));
        let weights = self.weight_range(node);
        let mut found = Vec::new();
        for (&column, &factor) in columns.iter().zip(factors) {
            let Ok(at) = features.binary_search(&column) else { continue };
            let start = if at == 0 { 0 } else { ends[at - 1] as usize };
            let own = start..(ends[at] as usize).min(weights.len());
            for at in own.map(|own| weights.start + own) {
                if self.owners.get(at) as usize == child {
                    found.push((column, factor * self.values.get(at)));
                }
            }
        }
        let bias = self.biases.get(self.children(node).start + child).copied();
        (bias.unwrap_or(0.0), found)
    }

    /// The nodes from the first on to a label, each with the position of the child that leads on.
    pub(crate) fn path_to(&self, label: u32) -> Option<Vec<(usize, usize)>> {
        let mut path = vec![self.parent_of(Child::Label(label))?];
        while path[path.len() - 1].0 > 0 {
            let node = path[path.len() - 1].0;
            // Parents come before their children, so this ends.
            path.push(
                self.parent_of(Child::Node(node as u32)).filter(|&(parent, _)| parent < node)?,
            );
        }
        path.reverse();
        Some(path)
    }

    /// The node that has a child, and the child's position there.
    pub(crate) fn parent_of(&self, child: Child) -> Option<(usize, usize)> {
        let packed = child.pack();
        let at = self.children.iter().position(|&own| own == packed)?;
        let node =
            self.children_start.partition_point(|&start| start as usize <= at).checked_sub(1)?;
        Some((node, at - self.children(node).start))
    }

    /// How many labels a child leads to.
    pub(crate) fn labels_of(&self, child: Child) -> usize {
        match child {
            Child::Label(_) => 1,
            Child::Node(node) => self.labels_below(node as usize).len(),
        }
    }
}
