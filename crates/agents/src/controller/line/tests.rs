use hoptax_result::sample;

use super::*;
use crate::planned::SentLoad;

const SECOND_NS: u64 = 1_000_000_000;

fn begun() -> Line {
    let (line, hello) = Line::begin(Some(ShownToken("0123456789abcdef".to_owned())), 0);
    let FromController::Hello { version: VERSION, token: Some(token) } = &hello else { panic!("{hello:?}") };
    assert_eq!(token.0, "0123456789abcdef");
    line
}

fn greeting() -> FromAgent {
    FromAgent::Hello { version: VERSION, program: Program::this() }
}

fn receive(line: &mut Line, message: FromAgent, now_ns: u64) -> Vec<Output> {
    line.on(Input::Frame { message, at_ns: now_ns }, now_ns)
}

/// Answers questions of the line by a clock that is 100 ns ahead, over ways of 10 ns, as long as it asks. Returns what else it does.
fn answer(line: &mut Line, mut outputs: Vec<Output>) -> Vec<Output> {
    while let [Output::Send(FromController::Clock { sent_ns })] = outputs.as_slice() {
        let sent_ns = *sent_ns;
        let clock = FromAgent::Clock { sent_ns, received_ns: sent_ns + 110, replied_ns: sent_ns + 110 };
        outputs = receive(line, clock, sent_ns + 20);
    }
    outputs
}

fn events(outputs: &[Output]) -> Vec<&AgentEvent> {
    outputs
        .iter()
        .filter_map(|output| match output {
            Output::Notify(event) => Some(event),
            _ => None,
        })
        .collect()
}

fn idle() -> Line {
    let mut line = begun();
    let outputs = receive(&mut line, greeting(), 1);
    let outputs = answer(&mut line, outputs);
    let [AgentEvent::Greeted(offset)] = events(&outputs)[..] else { panic!("{outputs:?}") };
    assert_eq!((offset.offset_ns, offset.error_ns), (100, 12));
    line
}

fn preparing() -> Line {
    let mut line = idle();
    let share = Box::new(PlannedShare { index: 0, of: 1, load: SentLoad::default() });
    let outputs = line.on(Input::Order(Order::Plan { share, until_ns: 3 * SECOND_NS }), 200);
    assert!(matches!(outputs.as_slice(), [Output::Send(FromController::Plan(_))]));
    line
}

/// It was heard last at 400 ns.
fn ready() -> Line {
    let mut line = preparing();
    let outputs = receive(&mut line, FromAgent::Ready, 240);
    let outputs = answer(&mut line, outputs);
    assert!(matches!(events(&outputs)[..], [AgentEvent::Ready(_)]));
    line
}

fn sending() -> Line {
    let mut line = ready();
    let start = Order::Start { at_ns: SECOND_NS, until_ns: 4 * SECOND_NS };
    let outputs = line.on(Input::Order(start), 500);
    let [Output::Send(FromController::Start { at_ns: SECOND_NS, offset_ns: 100 })] = outputs.as_slice()
    else {
        panic!("{outputs:?}")
    };
    line
}

/// Ticks four times a second from one time up to another, nanoseconds. Returns the first outcome.
fn ticks(line: &mut Line, from_ns: u64, to_ns: u64) -> Option<AgentOutcome> {
    let mut times = (from_ns..=to_ns).step_by(SECOND_NS as usize / 4);
    times.find_map(|at_ns| ended(&line.on(Input::Tick, at_ns)))
}

fn ended(outputs: &[Output]) -> Option<AgentOutcome> {
    events(outputs).into_iter().find_map(|event| match event {
        AgentEvent::Ended(outcome, _) => Some(*outcome),
        _ => None,
    })
}

#[test]
fn an_agent_is_compared_planned_started_and_reports_once() {
    let mut line = sending();
    let outputs = receive(&mut line, FromAgent::Second(Box::default()), 2 * SECOND_NS);
    assert!(matches!(events(&outputs)[..], [AgentEvent::Second(_)]));
    let outputs = receive(&mut line, FromAgent::Report(Box::new(sample::load())), 3 * SECOND_NS);
    let outputs = answer(&mut line, outputs);
    let [AgentEvent::Reported(_, Some(after))] = events(&outputs)[..] else { panic!("{outputs:?}") };
    assert_eq!(after.offset_ns, 100);
    // It is asked until all others have reported, too, and never given up.
    for at_ns in [5, 100].map(|second| second * SECOND_NS) {
        let outputs = line.on(Input::Tick, at_ns);
        assert!(matches!(outputs.as_slice(), [Output::Send(FromController::Clock { .. })]), "{outputs:?}");
    }
    let outputs = line.on(Input::Lost("its connection ended".to_owned()), 101 * SECOND_NS);
    assert!(matches!(outputs.as_slice(), [Output::Close]));
}

#[test]
fn an_agent_that_dies_is_silent_late_or_fails_is_told_once_with_its_outcome() {
    let mut line = sending();
    let lost = line.on(Input::Lost("its connection ended".to_owned()), SECOND_NS);
    assert_eq!(ended(&lost), Some(AgentOutcome::Died));
    assert_eq!(ended(&line.on(Input::Lost("again".to_owned()), SECOND_NS)), None);
    let mut line = sending();
    line.until_ns = None;
    assert_eq!(ticks(&mut line, 400, SILENCE_NS + 400), None);
    let outputs = line.on(Input::Tick, SILENCE_NS + 401);
    assert_eq!(ended(&outputs), Some(AgentOutcome::Silent));
    // If it hears again, it does not send on.
    assert!(matches!(outputs.last(), Some(Output::Send(FromController::Stop))), "{outputs:?}");
    let mut line = sending();
    assert_eq!(ticks(&mut line, 400, 4 * SECOND_NS), None);
    assert_eq!(ticks(&mut line, 4 * SECOND_NS + 1, 4 * SECOND_NS + 1), Some(AgentOutcome::Late));
    // A long message is coming.
    let mut line = sending();
    line.until_ns = None;
    assert_eq!(ticks(&mut line, 400, SILENCE_NS), None);
    assert!(line.on(Input::Activity, SILENCE_NS).is_empty());
    assert_eq!(ticks(&mut line, SILENCE_NS + 401, 2 * SILENCE_NS), None);
    let failed = FromAgent::Failed { reason: "no route".to_owned() };
    assert_eq!(ended(&receive(&mut ready(), failed, 500)), Some(AgentOutcome::Failed));
    let outputs = receive(&mut begun(), FromAgent::Busy, 1);
    assert_eq!(ended(&outputs), Some(AgentOutcome::Failed));
    assert!(matches!(outputs.last(), Some(Output::Close)), "{outputs:?}");
}

/// The reason of the end of a line.
fn reason(outputs: &[Output]) -> &str {
    let [AgentEvent::Ended(_, reason)] = events(outputs)[..] else { panic!("{outputs:?}") };
    reason
}

#[test]
fn the_end_of_an_agent_states_the_time_since_its_last_message_without_that_of_a_stalled_controller() {
    let lost = || Input::Lost("its connection ended".to_owned());
    // The second was read a minute after the last tick.
    for at_ns in [3 * SECOND_NS + 400, 63 * SECOND_NS] {
        let mut line = sending();
        assert_eq!(ticks(&mut line, 400, 3 * SECOND_NS + 400), None);
        let outputs = line.on(lost(), at_ns);
        assert_eq!(reason(&outputs), "its connection ended, 3.0 s after its last message");
    }
    let mut line = sending();
    line.until_ns = None;
    let late_ns = (400..).step_by(STALL_NS as usize).find(|at_ns| *at_ns > 400 + SILENCE_NS).unwrap();
    let ends = (400..=late_ns).step_by(STALL_NS as usize).map(|at_ns| line.on(Input::Tick, at_ns));
    let outputs = ends.last().unwrap();
    assert!(reason(&outputs).starts_with("it sent nothing for 6.0 s: "), "{outputs:?}");
    // It has not said anything yet.
    assert_eq!(reason(&begun().on(lost(), SECOND_NS)), "its connection ended");
}

#[test]
fn whoever_answers_no_question_about_its_clock_is_late_however_much_it_says() {
    let mut line = begun();
    receive(&mut line, greeting(), 1);
    for at_ns in (SECOND_NS..=COMPARING_NS).step_by(SECOND_NS as usize) {
        assert!(receive(&mut line, FromAgent::Ready, at_ns).is_empty());
        assert_eq!(ended(&line.on(Input::Tick, at_ns)), None, "{at_ns}");
    }
    assert_eq!(ended(&line.on(Input::Tick, COMPARING_NS + 2)), Some(AgentOutcome::Late));
}

#[test]
fn an_agent_that_is_stopped_has_to_report_by_then() {
    let mut line = sending();
    let outputs = line.on(Input::Order(Order::Stop { until_ns: 2 * SECOND_NS }), 600);
    assert!(matches!(outputs.as_slice(), [Output::Send(FromController::Stop)]));
    assert_eq!(ticks(&mut line, 600, 2 * SECOND_NS), None);
    assert_eq!(ended(&line.on(Input::Tick, 2 * SECOND_NS + 1)), Some(AgentOutcome::Late));
}

#[test]
fn a_controller_that_stood_still_has_heard_nobody_and_gives_nobody_up_for_it() {
    let mut line = sending();
    assert_eq!(ticks(&mut line, 400, SECOND_NS), None);
    // A minute later, what was said meanwhile waits to be read.
    assert_eq!(ended(&line.on(Input::Tick, 61 * SECOND_NS)), None);
    assert!(ticks(&mut line, 61 * SECOND_NS + 1, 70 * SECOND_NS).is_some());
}

#[test]
fn an_agent_is_asked_every_second_also_while_it_waits_and_sends() {
    for mut line in [idle(), ready(), sending()] {
        let now_ns = line.asked_ns + ASK_EVERY_NS;
        assert!(line.on(Input::Tick, now_ns - 1).is_empty());
        let outputs = line.on(Input::Tick, now_ns);
        assert!(matches!(outputs.as_slice(), [Output::Send(FromController::Clock { .. })]), "{outputs:?}");
        assert!(line.on(Input::Tick, now_ns + 1).is_empty());
    }
}

#[test]
fn the_best_exchange_before_the_start_counts() {
    let mut line = ready();
    let worse = FromAgent::Clock { sent_ns: 500, received_ns: 900, replied_ns: 900 };
    receive(&mut line, worse, 1_500);
    let outputs = line.on(Input::Order(Order::Start { at_ns: 1, until_ns: 2 }), 1_600);
    assert!(matches!(outputs.as_slice(), [Output::Send(FromController::Start { offset_ns: 100, .. })]));
}

#[test]
fn clocks_are_compared_again_when_the_agent_is_ready_and_while_others_are_awaited() {
    let mut line = preparing();
    let outputs = receive(&mut line, FromAgent::Ready, 2 * SECOND_NS);
    let outputs = answer(&mut line, outputs);
    let [AgentEvent::Ready(offset)] = events(&outputs)[..] else { panic!("{outputs:?}") };
    // The first exchanges had the same round trip, two seconds before.
    assert!(offset.sent_ns >= 2 * SECOND_NS, "{offset:?}");
    let outputs = line.on(Input::Tick, 9 * SECOND_NS / 2);
    let [Output::Send(FromController::Clock { sent_ns })] = outputs.as_slice() else { panic!("{outputs:?}") };
    let later_ns = *sent_ns;
    let outputs = answer(&mut line, outputs);
    let [AgentEvent::Compared(offset)] = events(&outputs)[..] else { panic!("{outputs:?}") };
    assert_eq!((offset.offset_ns, offset.sent_ns), (100, later_ns));
}

#[test]
fn an_agent_that_is_ready_and_answers_no_question_about_its_clock_is_late() {
    let mut line = preparing();
    assert!(events(&receive(&mut line, FromAgent::Ready, SECOND_NS)).is_empty());
    for at_ns in (SECOND_NS..=SECOND_NS + COMPARING_NS).step_by(SECOND_NS as usize) {
        assert!(receive(&mut line, FromAgent::Ready, at_ns).is_empty());
        assert_eq!(ended(&line.on(Input::Tick, at_ns)), None, "{at_ns}");
    }
    let outputs = line.on(Input::Tick, SECOND_NS + COMPARING_NS + 1);
    assert_eq!(ended(&outputs), Some(AgentOutcome::Late));
    assert!(matches!(outputs.last(), Some(Output::Send(FromController::Stop))), "{outputs:?}");
}

#[test]
fn another_program_or_an_impossible_clock_is_refused() {
    let program = Program { version: "0.0.0".to_owned(), commit: None };
    let outputs = receive(&mut begun(), FromAgent::Hello { version: VERSION, program }, 1);
    assert_eq!(ended(&outputs), Some(AgentOutcome::Failed));
    let outputs = receive(&mut begun(), FromAgent::Hello { version: 1, program: Program::this() }, 1);
    let [AgentEvent::Ended(AgentOutcome::Failed, reason)] = events(&outputs)[..] else {
        panic!("{outputs:?}")
    };
    assert!(
        reason.contains("with version 1 of the protocol")
            && reason.ends_with("use the same version of hoptax for both")
    );
    let mut line = begun();
    let mut outputs = receive(&mut line, greeting(), 1);
    while let [Output::Send(FromController::Clock { sent_ns })] = outputs.as_slice() {
        let sent_ns = *sent_ns;
        // It replies before it receives.
        let clock = FromAgent::Clock { sent_ns, received_ns: 9, replied_ns: 8 };
        outputs = receive(&mut line, clock, sent_ns + 20);
    }
    assert_eq!(ended(&outputs), Some(AgentOutcome::Failed));
}

#[test]
fn a_report_is_kept_if_the_agent_dies_while_clocks_are_compared_again() {
    let mut line = sending();
    receive(&mut line, FromAgent::Report(Box::new(sample::load())), 2 * SECOND_NS);
    let outputs = line.on(Input::Lost("its connection ended".to_owned()), 2 * SECOND_NS);
    assert!(matches!(events(&outputs)[..], [AgentEvent::Reported(_, None)]), "{outputs:?}");
}
