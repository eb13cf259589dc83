//! What speaks for a label in its classifier.

use super::OneVsRest;
use crate::algorithms::Algorithm;
use crate::algorithms::explain::{Evidence, Fact, Reasons, Sums};
use crate::algorithms::linear;
use crate::base::run::{Stopped, Task};
use crate::base::sparse::CsrView;
use crate::learn::linear::{Child, Scorer};

impl OneVsRest {
    /// The reasons of each label for a row, the only one.
    pub(super) fn reasons(
        &self,
        features: CsrView<'_>,
        labels: &[u32],
        task: &Task,
    ) -> Result<Vec<Reasons>, Stopped> {
        let rows = self.weights.apply(features, self.features);
        let row = rows.view().row(0);
        let mut scorer = Scorer::new(rows.view().width(), 1);
        let part = self.params.name();
        let reasons = |&label: &u32| {
            task.check()?;
            let classifier = self.blocks.iter().enumerate().find_map(|(block, nodes)| {
                let (node, child) = nodes.parent_of(Child::Label(label))?;
                Some((block, nodes, node, child))
            });
            let Some((block, nodes, node, child)) = classifier else {
                return Ok(Reasons::none(part));
            };
            let link = |margin| self.params.link.log_probability(margin);
            let step = linear::step((nodes, node, child), row, &mut scorer, link).at(block, 0, 1);
            let score = libm::expf(step.log_probability);
            let (margin, bias) = (step.margin, step.bias);
            let mut sums = Sums::default();
            step.terms.iter().for_each(|term| sums.add(term.feature, term.contribution.into()));
            let how = vec![
                Fact::new(format!("{part}: margin, the sum of the terms"), margin),
                Fact::new(format!("{part}: what that makes of a probability"), score),
            ];
            let linear = Evidence::Linear { trees: 1, voting: vec![block], steps: vec![step] };
            let own = Reasons::new(part, score, linear);
            Ok(Reasons { bias: Some(bias), terms: sums.finish(), how, ..own })
        };
        labels.iter().map(reasons).collect()
    }
}
