//! The stacks of an arm and of the arm that it is compared with as one tree of frames, of bounded size.
//!
//! Both arms have the same frames in it, so that differences are exact: a frame is left out only if it is small in both.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::profile::folded::Folded;

/// The outermost frame, which is around all stacks.
const ALL: &str = "all";
/// Share of the CPU time below which a frame is left out: its CPU time is then that of the frame that calls it.
const LEAST_SHARE: f64 = 0.005;
/// Most frames of a tree. With more, the least share rises.
const MOST_FRAMES: usize = 300;
/// Most frames around a frame: deeper stacks are cut. perf records at most 127 unless told otherwise.
const DEEPEST: usize = 256;
/// Longest name of a frame, characters. Names of C++ with their templates are longer, and are cut in the middle.
const LONGEST_NAME: usize = 120;
/// Factor by which the least share rises until the tree is small enough.
const RISE: f64 = 1.25;

/// A frame within those that call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFrame {
    /// Its name.
    pub name: String,
    /// Number of frames around it.
    pub depth: u32,
    /// CPU time of its own and of the frames that it calls and that are left out, by round, nanoseconds.
    pub own_ns: Vec<u64>,
    /// The same of the arm that it is compared with; empty without one.
    pub compared_ns: Vec<u64>,
}

/// A stack of either arm, with its CPU time by round, nanoseconds.
struct Stack<'a> {
    /// Its frames, the outermost first.
    frames: Vec<Cow<'a, str>>,
    own_ns: Vec<u64>,
    compared_ns: Vec<u64>,
}

/// A tree that grows.
struct Growing {
    least_own_ns: f64,
    least_compared_ns: f64,
    frames: Vec<TreeFrame>,
}

/// The tree of the stacks of an arm, by round, and of those of the arm that it is compared with. Each frame comes after the one that
/// calls it, and frames that one calls are in alphabetical order. Empty if the arm has no CPU time.
pub fn tree(own: &[Folded], compared: &[Folded]) -> Vec<TreeFrame> {
    let stacks = stacks(own, compared);
    let (own_ns, compared_ns) = cpu_ns(&stacks);
    if own_ns <= 0.0 {
        return Vec::new();
    }
    let mut least = LEAST_SHARE;
    loop {
        let mut growing = Growing {
            least_own_ns: own_ns * least,
            // Of an arm without CPU time, no frame is large.
            least_compared_ns: if compared_ns > 0.0 { compared_ns * least } else { f64::INFINITY },
            frames: Vec::new(),
        };
        growing.add(ALL, 0, &stacks);
        // Beyond a share of 1, only the outermost frame is left.
        if growing.frames.len() <= MOST_FRAMES {
            return growing.frames;
        }
        least *= RISE;
    }
}

impl Growing {
    /// Adds a frame, and those that it calls: `stacks` are those through it, whose first `depth` frames are the same.
    fn add(&mut self, name: &str, depth: usize, stacks: &[Stack<'_>]) {
        let place = self.frames.len();
        self.frames.push(TreeFrame {
            name: name.to_owned(),
            depth: depth as u32,
            own_ns: Vec::new(),
            compared_ns: Vec::new(),
        });
        let (mut own_ns, mut compared_ns) = (Vec::new(), Vec::new());
        for through in stacks.chunk_by(|one, next| one.frames.get(depth) == next.frames.get(depth)) {
            let called = through.first().and_then(|stack| stack.frames.get(depth));
            match called {
                Some(called) if depth < DEEPEST && self.is_large(through) => {
                    self.add(called, depth + 1, through);
                }
                _ => {
                    for stack in through {
                        add_each(&mut own_ns, &stack.own_ns);
                        add_each(&mut compared_ns, &stack.compared_ns);
                    }
                }
            }
        }
        if let Some(frame) = self.frames.get_mut(place) {
            (frame.own_ns, frame.compared_ns) = (own_ns, compared_ns);
        }
    }

    /// True if the frame that these stacks go through is large in one of the arms.
    fn is_large(&self, stacks: &[Stack<'_>]) -> bool {
        let (own_ns, compared_ns) = cpu_ns(stacks);
        own_ns >= self.least_own_ns || compared_ns >= self.least_compared_ns
    }
}

/// The stacks of both arms in the order of their frames.
fn stacks<'a>(own: &'a [Folded], compared: &'a [Folded]) -> Vec<Stack<'a>> {
    let mut found: BTreeMap<&'a str, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
    let none = || (vec![0; own.len()], vec![0; compared.len()]);
    for (round, folded) in own.iter().enumerate() {
        for (stack, cpu_ns) in folded.stacks() {
            found.entry(stack).or_insert_with(none).0[round] = cpu_ns;
        }
    }
    for (round, folded) in compared.iter().enumerate() {
        for (stack, cpu_ns) in folded.stacks() {
            found.entry(stack).or_insert_with(none).1[round] = cpu_ns;
        }
    }
    let stack = |(stack, (own_ns, compared_ns)): (&'a str, (Vec<u64>, Vec<u64>))| {
        // Of a sample without a frame, the stack is empty.
        let frames = stack.split(';').filter(|frame| !frame.is_empty()).map(short).collect();
        Stack { frames, own_ns, compared_ns }
    };
    let mut stacks: Vec<Stack<'a>> = found.into_iter().map(stack).collect();
    stacks.sort_by(|one, other| one.frames.cmp(&other.frames));
    stacks
}

/// CPU time of stacks in all rounds, nanoseconds: of the arm, and of the one that it is compared with.
fn cpu_ns(stacks: &[Stack<'_>]) -> (f64, f64) {
    let sum = |all: &[u64]| all.iter().map(|ns| *ns as f64).sum::<f64>();
    stacks
        .iter()
        .map(|stack| (sum(&stack.own_ns), sum(&stack.compared_ns)))
        .fold((0.0, 0.0), |(own, compared), stack| (own + stack.0, compared + stack.1))
}

/// Adds `more` to `sums`, place by place.
fn add_each(sums: &mut Vec<u64>, more: &[u64]) {
    sums.resize(more.len().max(sums.len()), 0);
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.saturating_add(*more);
    }
}

/// A name that is not too long, cut in its middle.
fn short(name: &str) -> Cow<'_, str> {
    let length = name.chars().count();
    if length <= LONGEST_NAME {
        return Cow::Borrowed(name);
    }
    let head = LONGEST_NAME / 2;
    let tail = LONGEST_NAME - head - 1;
    let (head, tail): (String, String) =
        (name.chars().take(head).collect(), name.chars().skip(length - tail).collect());
    Cow::Owned(format!("{head}\u{2026}{tail}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The frames with their depths and CPU times, those of both arms one after the other.
    fn shown(tree: &[TreeFrame]) -> Vec<(u32, &str, Vec<u64>)> {
        let times = |frame: &TreeFrame| frame.own_ns.iter().chain(&frame.compared_ns).copied().collect();
        tree.iter().map(|frame| (frame.depth, frame.name.as_str(), times(frame))).collect()
    }

    #[test]
    fn a_frame_follows_its_caller_and_has_the_times_of_both_arms() {
        let own = ["main;route;verify 500\nmain;route 200\nmain;writev 300\n", "main;writev 100\n"];
        let tree = tree(&own.map(Folded::read), &[Folded::read("main;writev 400\nidle 100\n")]);
        let expected = [
            (0, ALL, vec![]),
            (1, "idle", vec![0, 0, 100]),
            (1, "main", vec![]),
            (2, "route", vec![200, 0, 0]),
            (3, "verify", vec![500, 0, 0]),
            (2, "writev", vec![300, 100, 400]),
        ];
        assert_eq!(shown(&tree), expected);
    }

    #[test]
    fn a_small_frame_is_counted_to_its_caller_unless_the_other_arm_has_much_of_it() {
        let own = [Folded::read("main;writev 996\nmain;parse;small 4\n")];
        let expected = [(0, ALL, vec![]), (1, "main", vec![4]), (2, "writev", vec![996])];
        assert_eq!(shown(&tree(&own, &[])), expected);
        let other = [Folded::read("main;writev 900\nmain;parse;small 100\n")];
        let both = tree(&own, &other);
        assert_eq!(shown(&both)[3], (3, "small", vec![4, 100]), "its difference is exact: {both:?}");
    }

    #[test]
    fn a_tree_stays_small_and_names_stay_short() {
        // None of the frames is smaller than the least share.
        let wide: String = (0..150).map(|number| format!("a{number};b;c;d 10\n")).collect();
        let found = tree(&[Folded::read(&wide)], &[]);
        assert!(found.len() <= MOST_FRAMES && found[0].name == ALL, "{}", found.len());
        assert_eq!(found.iter().flat_map(|frame| &frame.own_ns).sum::<u64>(), 1500);
        let deep = vec!["f"; 2_000].join(";");
        assert!(tree(&[Folded::read(&format!("{deep} 10\n"))], &[]).len() <= MOST_FRAMES);
        let long = format!("std::function<{}>::call", "é".repeat(500));
        let found = tree(&[Folded::read(&format!("{long} 10\n"))], &[]);
        let name = &found[1].name;
        assert_eq!(name.chars().count(), LONGEST_NAME, "{name}");
        assert!(name.starts_with("std::function<é") && name.ends_with("é>::call"), "{name}");
    }

    #[test]
    fn without_cpu_time_there_is_no_tree() {
        assert!(tree(&[], &[]).is_empty() && tree(&[Folded::default()], &[]).is_empty());
        assert!(tree(&[Folded::default()], &[Folded::read("main 10\n")]).is_empty());
        // A sample without a frame.
        assert_eq!(shown(&tree(&[Folded::read(" 7\n")], &[])), [(0, ALL, vec![7])]);
    }

    proptest! {
        #[test]
        fn no_cpu_time_is_lost_and_no_depth_is_skipped(
            stacks in prop::collection::vec((prop::collection::vec("[a-d]", 0..6), 1_u64..1_000), 1..40),
            compared in prop::collection::vec((prop::collection::vec("[a-d]", 0..6), 1_u64..1_000), 0..40),
        ) {
            let text = |stacks: &[(Vec<String>, u64)]| -> String {
                stacks.iter().map(|(stack, ns)| format!("{} {ns}\n", stack.join(";"))).collect()
            };
            let sum = |stacks: &[(Vec<String>, u64)]| stacks.iter().map(|(_, ns)| ns).sum::<u64>();
            let found = tree(&[Folded::read(&text(&stacks))], &[Folded::read(&text(&compared))]);
            prop_assert_eq!(found.iter().flat_map(|frame| &frame.own_ns).sum::<u64>(), sum(&stacks));
            prop_assert_eq!(found.iter().flat_map(|frame| &frame.compared_ns).sum::<u64>(), sum(&compared));
            for (before, frame) in found.iter().zip(found.iter().skip(1)) {
                prop_assert!(frame.depth >= 1 && frame.depth <= before.depth + 1, "{:?}", found);
            }
        }
    }
}
