//! The reader: a program that listens in a pod, and reads CPU times of containers from the control groups of its node.
//!
//! A client names containers by their ids and gets their counters, with the time of each reading on the clock of the node. The reader
//! answers nothing else and changes nothing, so it has no token. It listens only on loopback, which in a pod is reachable only for users
//! who may forward its ports.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hoptax_host::container_groups::{ContainerId, Groups};
use hoptax_session::targets::is_loopback;
use hoptax_session::{Failure, Interrupt, machine};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};

use crate::agent::on_this_thread;
use crate::controller::Stream;
use crate::frame::{self, MAX_BYTES};

pub use hoptax_host::container_groups::{Counters, TICK_S};

/// The version of this protocol. A reader refuses another version.
const VERSION: u32 = 2;
/// Maximum number of containers of a question. A measurement has fewer on a node; with more, a stranger could keep the reader busy.
const MOST_CONTAINERS: usize = 200;
/// Maximum size of a question, bytes. It exceeds that of the maximum number of containers, so that a question with too many gets an answer.
const QUESTION_BYTES: usize = 64 << 10;
/// Interval between checks for an interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Time limit for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// A question to a reader, which is one message.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    version: u32,
    /// The ids of containers.
    containers: Vec<String>,
}

/// The readings by the ids of containers, without those that have no group; or why there are none.
type Answer = Result<BTreeMap<String, Counters>, String>;

/// A reader that listens.
#[derive(Debug)]
pub struct Reader {
    listener: TcpListener,
    address: SocketAddr,
    groups: Groups,
}

impl Reader {
    /// Starts to listen for questions about the control groups below a folder. Connections are not served yet.
    ///
    /// # Errors
    /// When the address is reachable from other machines or cannot be listened on, or the folder has no control groups.
    pub fn bind(listen: SocketAddr, groups: &Path) -> Result<Self, Failure> {
        if !is_loopback(listen) {
            return Err(Failure::bad_input(format!(
                "others can reach {listen}, and a reader answers everybody: let it listen on loopback"
            )));
        }
        let shown = groups.display();
        let groups = Groups::open(groups)
            .map_err(|error| Failure::environment(format!("cannot read `{shown}`: {error}")))?;
        let (listener, address) = machine::listen(listen)?;
        Ok(Self { listener, address, groups })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until an interrupt.
    ///
    /// # Errors
    /// When a system call fails that answering needs.
    pub fn run(self, interrupt: &Interrupt) -> Result<(), Failure> {
        on_this_thread(self.serve_all(interrupt))
    }

    async fn serve_all(self, interrupt: &Interrupt) -> Result<(), Failure> {
        let listener = tokio::net::TcpListener::from_std(self.listener).map_err(Failure::environment)?;
        let groups = Arc::new(Mutex::new(self.groups));
        while !interrupt.is_requested() {
            match timeout(LOOK_EVERY, listener.accept()).await {
                Ok(Ok((stream, _))) => {
                    // Nagle's algorithm would delay answers.
                    let _ = stream.set_nodelay(true);
                    let groups = Arc::clone(&groups);
                    let read = move |ids: &[ContainerId]| {
                        groups.lock().unwrap_or_else(PoisonError::into_inner).read(ids)
                    };
                    tokio::spawn(serve(stream, read));
                }
                // No file descriptor is left until another connection ends.
                Ok(Err(_)) => sleep(LOOK_EVERY).await,
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// Answers the client at the other end of a stream, until the stream ends or a message is not a question.
async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    mut read: impl FnMut(&[ContainerId]) -> Vec<Option<Counters>>,
) {
    while let Ok(Some(question)) = frame::read::<Question>(&mut stream, QUESTION_BYTES, || ()).await {
        let answer = answer(question, &mut read);
        if frame::write(&mut stream, &answer).await.is_err() || answer.is_err() {
            break;
        }
    }
}

fn answer(question: Question, mut read: impl FnMut(&[ContainerId]) -> Vec<Option<Counters>>) -> Answer {
    let Question { version, containers } = question;
    if version != VERSION {
        return Err(format!(
            "the reader speaks version {VERSION} of the protocol, and not {version}: use the same version of hoptax for both"
        ));
    }
    if containers.len() > MOST_CONTAINERS {
        return Err(format!("a question names {MOST_CONTAINERS} containers at most"));
    }
    let ids: Vec<ContainerId> =
        containers.iter().map(|text| text.parse::<ContainerId>()).collect::<Result<_, _>>()?;
    let read = containers.into_iter().zip(read(&ids));
    Ok(read.filter_map(|(text, counters)| Some((text, counters?))).collect())
}

/// A stream to a reader.
pub struct Line {
    stream: Box<dyn Stream>,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}

impl Line {
    /// A line to the reader at the other end of a stream.
    pub fn new(stream: impl Stream + 'static) -> Self {
        Self { stream: Box::new(stream) }
    }

    /// The readings of containers by their ids, without those that have no control group on the node. Needs a runtime with a timer. After
    /// an error, the line is unusable.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn ask(&mut self, containers: Vec<String>) -> Result<BTreeMap<String, Counters>, String> {
        let question = Question { version: VERSION, containers };
        let exchanged = timeout(ANSWER_TIME, self.exchange(&question)).await;
        exchanged.unwrap_or_else(|_| Err(format!("no answer within {} s", ANSWER_TIME.as_secs())))
    }

    async fn exchange(&mut self, question: &Question) -> Answer {
        frame::write(&mut self.stream, question).await.map_err(|error| error.to_string())?;
        match frame::read::<Answer>(&mut self.stream, MAX_BYTES, || ()).await {
            Ok(Some(answer)) => answer,
            Ok(None) => Err("its connection ended".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, duplex};
    use tokio::runtime::Builder;

    use super::*;

    fn id(digit: &str) -> String {
        digit.repeat(64)
    }

    /// The answers of a reader of two containers to these questions, one after the other over one line.
    fn asked(questions: &[Vec<String>]) -> Vec<Answer> {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (ours, theirs) = duplex(1 << 10);
            let mut at_ns = 0;
            let known = ["a", "b"].map(|digit| id(digit).parse::<ContainerId>().unwrap());
            tokio::spawn(serve(theirs, move |ids: &[ContainerId]| {
                let read = |id: &ContainerId| {
                    at_ns += 1;
                    known.contains(id).then_some(Counters { at_ns, cpu_ns: 7, ..Counters::default() })
                };
                ids.iter().map(read).collect()
            }));
            let mut line = Line::new(ours);
            let mut answers = Vec::new();
            for question in questions {
                answers.push(line.ask(question.clone()).await);
            }
            answers
        })
    }

    #[test]
    fn containers_are_read_when_they_are_asked_for_and_those_without_a_group_are_left_out() {
        let answers = asked(&[vec![id("a"), id("c"), id("b")], Vec::new(), vec![id("b")]]);
        let reading = |at_ns: u64| Counters { at_ns, cpu_ns: 7, ..Counters::default() };
        assert_eq!(answers[0], Ok([(id("a"), reading(1)), (id("b"), reading(3))].into()));
        assert_eq!(answers[1], Ok(BTreeMap::new()));
        assert_eq!(answers[2], Ok([(id("b"), reading(4))].into()));
    }

    #[test]
    fn whoever_names_no_id_is_refused_and_not_heard_again() {
        for name in ["", "../../etc/shadow", "origin", &format!("{}/..", id("a"))] {
            let answers = asked(&[vec![id("a"), name.to_owned()], vec![id("a")]]);
            assert!(answers[0].as_ref().unwrap_err().contains("64 digits"), "{name}: {answers:?}");
            assert!(answers[1].is_err(), "{name}: {answers:?}");
        }
    }

    #[test]
    fn a_question_names_so_many_containers_that_its_answer_is_short() {
        let question = |number: usize| vec![id("a"); number];
        let answers = asked(&[question(MOST_CONTAINERS), question(MOST_CONTAINERS + 1)]);
        assert!(answers[0].is_ok(), "{answers:?}");
        assert!(answers[1].as_ref().unwrap_err().contains("200 containers at most"), "{answers:?}");
    }

    #[test]
    fn another_version_and_bytes_of_a_stranger_are_refused() {
        let other = Question { version: VERSION + 1, containers: Vec::new() };
        let refused = answer(other, |_: &[ContainerId]| Vec::new()).unwrap_err();
        assert!(refused.contains("use the same version of hoptax for both"), "{refused}");
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let none = |_: &[ContainerId]| -> Vec<Option<Counters>> { panic!("nobody asked") };
        for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0, 0, 0, 2, b'{', b'}'], &[0, 2, 0, 0], &[0, 0, 0, 9]]
        {
            runtime.block_on(async {
                let (mut ours, theirs) = duplex(1 << 10);
                ours.write_all(bytes).await.unwrap();
                ours.shutdown().await.unwrap();
                serve(theirs, none).await;
            });
        }
    }

    #[test]
    fn a_reader_that_others_can_reach_is_refused_before_it_listens() {
        let open = "0.0.0.0:0".parse().unwrap();
        let failure = Reader::bind(open, Path::new("/")).unwrap_err();
        assert!(failure.to_string().contains("let it listen on loopback"), "{failure}");
    }
}
