use super::*;
use crate::base::run::Pool;
use crate::learn::calibration::logistic::{Truth, probability};
use proptest::prelude::*;

fn truths(is_true: &[bool]) -> Vec<Truth> {
    is_true.iter().map(|&is_true| is_true.into()).collect()
}

fn learned(columns: &[Vec<f32>], is_true: &[bool], threads: usize) -> Boosted {
    let task = Pool::new(threads).unwrap().task();
    learn(columns, &truths(is_true), vec![0.0; is_true.len()], &task).unwrap()
}

fn log_odds(boosted: &Boosted, columns: &[Vec<f32>]) -> Vec<f64> {
    let mut log_odds = vec![0.0; columns[0].len()];
    boosted.add(columns, &mut log_odds, &mut Vec::new());
    log_odds
}

#[test]
fn one_number_that_tells_all_is_asked_for() {
    let noise: Vec<f32> = (0..1000).map(|at| (at * 7 % 13) as f32).collect();
    let tells: Vec<f32> = (0..1000).map(|at| (at % 10) as f32).collect();
    let is_true: Vec<bool> = tells.iter().map(|&number| number > 6.0).collect();
    let columns = [noise, tells];
    let boosted = learned(&columns, &is_true, 1);
    let first = boosted.questions()[0];
    assert_eq!((first.number, first.border), (1, 6.5));
    let gains = boosted.gains(2);
    assert!(gains[1] > 20.0 * gains[0], "{gains:?}");
    for (odds, is_true) in log_odds(&boosted, &columns).into_iter().zip(is_true) {
        assert_eq!(odds > 2.0, is_true, "{odds}");
        assert_eq!(odds < -2.0, !is_true, "{odds}");
    }
}

#[test]
fn numbers_that_tell_only_together_are_both_asked_for() {
    // A sum of the two could not tell: true is what is large in exactly one.
    let one: Vec<f32> = (0..2000).map(|at| (at % 20) as f32).collect();
    let other: Vec<f32> = (0..2000).map(|at| (at / 20 % 20) as f32).collect();
    let is_true: Vec<bool> =
        one.iter().zip(&other).map(|(one, other)| (*one > 12.0) != (*other > 9.0)).collect();
    let columns = [one, other];
    let log_odds = log_odds(&learned(&columns, &is_true, 2), &columns);
    let right = log_odds.iter().zip(&is_true).filter(|(odds, is)| (**odds > 0.0) == **is).count();
    assert_eq!(right, 2000);
}

#[test]
fn the_summands_are_what_the_trees_add() {
    let noise: Vec<f32> = (0..500).map(|at| (at * 7 % 13) as f32).collect();
    let tells: Vec<f32> = (0..500).map(|at| (at % 10) as f32).collect();
    let is_true: Vec<bool> = tells.iter().map(|&number| number > 6.0).collect();
    let columns = [noise, tells];
    let boosted = learned(&columns, &is_true, 1);
    for (row, odds) in log_odds(&boosted, &columns).into_iter().enumerate().take(20) {
        let (start, added) = boosted.summands(&[columns[0][row], columns[1][row]]);
        assert!((start + added.iter().sum::<f64>() - odds).abs() < 1e-9);
        assert_eq!(added[1] > 0.0, is_true[row], "the number that tells is what counts");
    }
    assert_eq!(Boosted::default().summands(&[1.0]), (0.0, vec![0.0]));
}

#[test]
fn nothing_is_learned_from_nothing() {
    for examples in [0, 5] {
        let columns = [vec![1.0; examples], vec![0.5; examples]];
        let boosted = learned(&columns, &vec![true; examples], 1);
        assert_eq!(boosted, Boosted::default());
    }
    assert_eq!(learned(&[], &[true, false], 1), Boosted::default());
}

#[test]
fn what_the_margins_know_is_not_learned_again() {
    let column: Vec<f32> = (0..1000).map(|at| (at % 2) as f32).collect();
    let is_true: Vec<bool> = (0..1000).map(|at| at % 2 == 1).collect();
    let margins = is_true.iter().map(|&is_true| if is_true { 12.0 } else { -12.0 }).collect();
    let task = Pool::new(1).unwrap().task();
    let boosted = learn(&[column], &truths(&is_true), margins, &task).unwrap();
    assert!(boosted.leaves().iter().all(|value| value.abs() < 1e-3));
}

#[test]
fn a_cancelled_task_learns_nothing() {
    let task = Pool::new(1).unwrap().task();
    task.canceller().cancel();
    assert!(learn(&[vec![0.0, 1.0]], &truths(&[true, false]), vec![0.0; 2], &task).is_err());
}

#[test]
fn stored_trees_that_do_not_fit_are_refused() {
    let question = Question { number: 1, border: 0.5, gain: 1.0 };
    let whole = || (vec![question; DEPTH], vec![0.25; LEAVES]);
    let with = |change: &dyn Fn(&mut Vec<Question>, &mut Vec<f32>), numbers| {
        let (mut questions, mut leaves) = whole();
        change(&mut questions, &mut leaves);
        Boosted::try_new(questions, leaves, numbers)
    };
    assert!(with(&|_, _| (), 2).is_some());
    assert!(with(&|_, _| (), 1).is_none());
    assert!(with(&|questions, _| questions.truncate(5), 2).is_none());
    assert!(with(&|_, leaves| leaves.truncate(63), 2).is_none());
    assert!(with(&|_, leaves| leaves[3] = f32::NAN, 2).is_none());
    assert!(with(&|questions, _| questions[0].border = f32::INFINITY, 2).is_none());
}

/// The first tree by trying every question on all examples, each time from the start.
fn first_tree(columns: &[Vec<f32>], is_true: &[bool]) -> Option<(Vec<Question>, Vec<f64>)> {
    let examples = is_true.len();
    let sums = |leaves: &[usize]| {
        let mut sums = vec![(0.0, 0.0); LEAVES];
        for (&leaf, &is_true) in leaves.iter().zip(is_true) {
            let expected = probability(0.0);
            sums[leaf].0 += f64::from(u8::from(is_true)) - expected;
            sums[leaf].1 += expected * (1.0 - expected);
        }
        sums
    };
    let worth = |leaves: &[usize]| -> f64 {
        sums(leaves).iter().map(|(slope, curve)| slope * slope / (curve + 10.0)).sum()
    };
    let mut leaves = vec![0; examples];
    let mut questions = Vec::new();
    for level in 0..DEPTH {
        let mut best = (1e-6, None);
        for (number, column) in columns.iter().enumerate() {
            let mut distinct = column.clone();
            distinct.sort_by(f32::total_cmp);
            distinct.dedup();
            for pair in distinct.windows(2) {
                let border = pair[0] + (pair[1] - pair[0]) / 2.0;
                let asked: Vec<usize> = leaves
                    .iter()
                    .zip(column)
                    .map(|(leaf, &number)| leaf | usize::from(number > border) << level)
                    .collect();
                let gain = worth(&asked) - worth(&leaves);
                // What is as good but for rounding comes first, as it does with sums in another order.
                if gain > best.0 + 1e-9 {
                    best = (
                        gain,
                        Some((
                            Question { number: number as u32, border, gain: gain as f32 },
                            asked,
                        )),
                    );
                }
            }
        }
        let Some((question, asked)) = best.1 else { break };
        questions.push(question);
        leaves = asked;
    }
    let values = sums(&leaves).iter().map(|(slope, curve)| 0.1 * slope / (curve + 10.0)).collect();
    (!questions.is_empty()).then_some((questions, values))
}

proptest! {
    #[test]
    fn the_first_tree_is_the_one_of_the_plain_way(
        examples in prop::collection::vec((0u8..8, 0u8..5, 0u8..3, any::<bool>()), 1..120),
    ) {
        let column = |of: fn(&(u8, u8, u8, bool)) -> u8| {
            examples.iter().map(|example| f32::from(of(example)) * 0.5).collect::<Vec<f32>>()
        };
        let columns = [column(|it| it.0), column(|it| it.1), column(|it| it.2)];
        let is_true: Vec<bool> = examples.iter().map(|example| example.3).collect();
        let boosted = learned(&columns, &is_true, 1);
        match first_tree(&columns, &is_true) {
            None => prop_assert_eq!(boosted, Boosted::default()),
            Some((questions, values)) => {
                // Questions of the same gain may stand for each other: what they come to is compared.
                let plain = |example: usize| {
                    let bit = |(level, question): (usize, &Question)| {
                        usize::from(columns[question.number as usize][example] > question.border) << level
                    };
                    values[questions.iter().enumerate().map(bit).sum::<usize>()]
                };
                let first = Boosted {
                    questions: boosted.questions[..DEPTH].to_vec(),
                    leaves: boosted.leaves[..LEAVES].to_vec(),
                };
                let loss = |odds: &dyn Fn(usize) -> f64| -> f64 {
                    let of = |at: usize| if is_true[at] { -odds(at) } else { odds(at) };
                    (0..is_true.len()).map(|at| libm::log1p(libm::exp(of(at)))).sum()
                };
                let found = log_odds(&first, &columns);
                let (found, plain) = (loss(&|at| found[at]), loss(&plain));
                prop_assert!((found - plain).abs() < 0.02 * plain.max(0.1), "{} {}", found, plain);
            }
        }
    }

    #[test]
    fn trees_and_log_odds_do_not_depend_on_threads_or_neighbours(
        examples in prop::collection::vec((-1e3f32..1e3, 0.0f32..1.0, any::<bool>()), 1..200),
    ) {
        let columns =
            [examples.iter().map(|it| it.0).collect::<Vec<_>>(), examples.iter().map(|it| it.1).collect()];
        let is_true: Vec<bool> = examples.iter().map(|example| example.2).collect();
        let boosted = learned(&columns, &is_true, 1);
        prop_assert_eq!(&boosted, &learned(&columns, &is_true, 3));
        let together = log_odds(&boosted, &columns);
        for at in 0..examples.len() {
            let alone = log_odds(&boosted, &columns.each_ref().map(|column| vec![column[at]]));
            prop_assert_eq!(alone[0], together[at]);
        }
        let stored = Boosted::try_new(boosted.questions().to_vec(), boosted.leaves().to_vec(), 2);
        prop_assert_eq!(stored, Some(boosted));
    }
}
