use super::*;

const SLIDING: fn(usize) -> Protocol = |stride| Protocol::Sliding { stride };

/// How often each target was scored at a length, `[tokens]`.
fn targets(plan: &Plan, tokens: usize, length: usize) -> Vec<usize> {
    let text: Vec<u32> = (0..tokens as u32).collect();
    let mut counts = vec![0; tokens];
    for step in plan.steps().filter(|step| step.length == length) {
        assert!(step.tokens() <= STEP_TOKENS.max(plan.together * length));
        let batch = step.batch(&text).unwrap();
        assert_eq!((batch.windows(), batch.length()), (step.windows, step.window));
        // Instead of losses, the targets themselves: so places and positions are seen to be right.
        let row = |window: usize| batch.targets(window).iter().map(|&target| target as f32);
        let nll: Vec<f32> = (0..step.windows).flat_map(row).collect();
        assert_eq!(step.scored(&nll).count(), step.windows * step.counted);
        for (index, (place, position, loss)) in step.scored(&nll).enumerate() {
            assert_eq!(loss as usize, place + 1);
            assert_eq!(batch.sources(index / step.counted)[position] as usize, place);
            counts[place + 1] += 1;
        }
    }
    counts
}

#[test]
fn every_length_scores_the_same_tokens_once() {
    for (protocol, lengths, tokens, scored) in [
        (Protocol::NonOverlapping, vec![16, 32, 4096, 128], 10_000, 8192),
        (Protocol::NonOverlapping, vec![6, 4], 40, 36),
        (Protocol::NonOverlapping, vec![1], 2, 1),
        (Protocol::NonOverlapping, vec![5000], 5001, 5000),
        // No common multiple in the text: the last windows are cut short.
        (Protocol::NonOverlapping, vec![128, 136, 152, 1000], 9_999, 9_998),
        (SLIDING(16), vec![64, 128, 1024], 4097, 4096),
        (SLIDING(7), vec![64, 7, 2000], 5000, 4999),
        (SLIDING(1), vec![1, 3, 50], 123, 122),
        (SLIDING(24), vec![63], 512, 511),
    ] {
        let plan = Plan::with(tokens, &lengths, usize::MAX, protocol).unwrap();
        assert_eq!(plan.scored(), scored, "{protocol:?}");
        for (plan, &length) in [plan.clone(), plan.together(3)]
            .iter()
            .flat_map(|plan| lengths.iter().map(move |length| (plan, length)))
        {
            let counts = targets(plan, tokens, length);
            assert!(
                counts[1..=scored].iter().all(|&count| count == 1),
                "{protocol:?}, {length}"
            );
            assert_eq!(counts.iter().sum::<usize>(), scored, "{protocol:?}, {length}");
        }
    }
}

#[test]
fn a_whole_plan_scores_exactly_what_is_asked_for() {
    for (protocol, length, scored) in [
        (Protocol::NonOverlapping, 16, 1024),
        (Protocol::NonOverlapping, 136, 1024),
        (Protocol::NonOverlapping, 5000, 5000),
        (SLIDING(16), 64, 1000),
        (SLIDING(7), 50, 333),
        (SLIDING(1), 8, 20),
    ] {
        let plan = Plan::whole(length, scored, protocol).unwrap();
        assert_eq!(plan.scored(), scored);
        let counts = targets(&plan, scored + 1, length);
        assert!(
            counts[1..].iter().all(|&count| count == 1),
            "{protocol:?}, {length}"
        );
    }
    // Steps are full: 4096 tokens of short windows.
    let steps: Vec<Step> = Plan::whole(64, 8192, Protocol::NonOverlapping)
        .unwrap()
        .steps()
        .collect();
    assert_eq!(steps, [Step::whole(0, 64, 64), Step::whole(4096, 64, 64)]);
    // Sliding keeps a long context: only the first window scores all of its predictions.
    let sliding: Vec<Step> = Plan::whole(64, 4096, SLIDING(16)).unwrap().steps().collect();
    assert_eq!((sliding[0].windows, sliding[0].counted), (1, 64));
    assert!(
        sliding[1..]
            .iter()
            .all(|step| (step.window, step.counted) == (64, 16))
    );
    assert!(Plan::whole(50, 333, SLIDING(99)).is_err());
    assert!(Plan::whole(0, 333, Protocol::NonOverlapping).is_err());
}

#[test]
fn sliding_windows_begin_a_stride_apart() {
    let plan = Plan::with(5001, &[1024], 1100, SLIDING(32)).unwrap();
    let steps: Vec<Step> = plan.steps().collect();
    let first = Step {
        round: 0,
        length: 1024,
        start: 0,
        windows: 1,
        window: 1024,
        stride: 32,
        counted: 1024,
    };
    let (two, short) = (
        Step {
            round: 1,
            start: 32,
            windows: 2,
            counted: 32,
            ..first
        },
        Step {
            round: 1,
            start: 96,
            window: 1004,
            counted: 12,
            ..first
        },
    );
    assert_eq!(steps, [first, two, short]);
    // A stride as long as the window leaves no overlap.
    let apart = Plan::with(4097, &[64], 4096, SLIDING(64)).unwrap();
    let windows = |plan: &Plan| {
        plan.steps()
            .map(|step| (step.start, step.windows))
            .collect::<Vec<_>>()
    };
    assert_eq!(windows(&apart)[..2], [(0, 16), (1024, 16)]);
}

#[test]
fn a_first_point_needs_one_step_and_rounds_follow() {
    let plan = Plan::new(100_000, &[16, 4096], 20_000).unwrap();
    assert_eq!(plan.scored(), 16_384);
    let steps: Vec<Step> = plan.steps().collect();
    let step = |round: usize, length: usize| Step {
        round,
        length,
        start: round * 4096,
        windows: 4096 / length,
        window: length,
        stride: length,
        counted: length,
    };
    assert_eq!(steps[..2], [step(0, 16), step(0, 4096)]);
    assert_eq!(steps.last().unwrap(), &step(3, 4096));
    assert_eq!(Plan::lengths(16, 4096, 600), [16, 32, 64, 128, 256, 512]);
    assert_eq!(Plan::lengths(16, 100, 1 << 20), [16, 32, 64]);
    // Sliding, too, begins with every length.
    let sliding = Plan::with(100_000, &[64, 1024], 4096, SLIDING(16)).unwrap();
    let mut rounds: Vec<(usize, usize)> = sliding.steps().map(|step| (step.round, step.length)).collect();
    rounds.dedup();
    assert_eq!(rounds[..4], [(0, 64), (0, 1024), (1, 64), (1, 1024)]);
    assert_eq!(rounds.len(), 8);
}

#[test]
fn sliding_costs_what_its_windows_compute() {
    let config = Config::base(crate::encoding::Encoding::from_name("none").unwrap(), 4);
    let sliding = Plan::with(4097, &[64], 4096, SLIDING(16)).unwrap();
    // One window, and one for each 16 of the 4,032 tokens after it.
    let expected = Cost {
        operations: config.operations(253, 64),
        tokens: 253 * 64,
    };
    assert_eq!(sliding.cost(&config), expected);
    let apart = Plan::new(4097, &[64, 32], 4096).unwrap().cost(&config);
    assert_eq!(
        apart.operations,
        config.operations(64, 64) + config.operations(128, 32)
    );
    assert_eq!(apart.tokens, 2 * 4096);
}

#[test]
fn a_length_given_twice_is_measured_once() {
    let once = Plan::new(1000, &[64, 16], 128).unwrap();
    assert_eq!(Plan::new(1000, &[64, 16, 64, 16], 128).unwrap(), once);
}

#[test]
fn what_cannot_be_measured_is_said() {
    let message = |tokens, lengths: &[usize], protocol| {
        let plan = Plan::with(tokens, lengths, 100, protocol);
        plan.unwrap_err().to_string()
    };
    let apart = Protocol::NonOverlapping;
    assert!(message(128, &[64, 128], apart).contains("128 tokens, and lengths up to 128 need 129"));
    assert!(message(128, &[], apart).contains("no length"));
    assert!(message(128, &[0], apart).contains("no length"));
    assert!(message(128, &[64], SLIDING(0)).contains("stride of at least 1"));
    let stride = message(128, &[64, 32, 16], SLIDING(48));
    assert!(
        stride.contains("windows of 32 tokens that slide by 48"),
        "{stride}"
    );
}

#[test]
fn an_engine_of_several_workers_gets_several_of_the_longest_windows() {
    let longest = |plan: &Plan| {
        plan.steps()
            .filter(|step| step.length == 4096)
            .map(|step| step.windows)
            .collect::<Vec<_>>()
    };
    let plan = Plan::new(20_000, &[128, 4096], usize::MAX).unwrap();
    assert_eq!(longest(&plan), [1; 4]);
    assert_eq!(longest(&plan.clone().together(2)), [2, 2]);
    assert_eq!(longest(&plan.clone().together(3)), [3, 1]);
    assert_eq!(longest(&plan.clone().together(9)), [4]);
    assert_eq!(plan.clone().together(1), plan);
}
