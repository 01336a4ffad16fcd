//! Streams of gRPC whose messages are timed.

use std::fs;

use serde_json::Value;

use crate::support::{UNHURRIED, checked, origin, run};

/// The result of a short load.
fn load(flags: &[&str]) -> Value {
    load_with(&["-q", "50", "-n", "20"], flags)
}

fn load_with(pace: &[&str], flags: &[&str]) -> Value {
    let fixed = ["load", "--warmup", "0s", "-c", "2", "--streams", "2", "--json", "-"];
    let ran = run(fixed.iter().chain(&UNHURRIED).chain(pace).chain(flags).copied());
    assert!(!ran.stdout.is_empty(), "{flags:?}: {}", ran.stderr);
    checked("load", &ran.stdout)
}

#[test]
fn every_message_of_a_stream_or_a_conversation_is_timed() {
    let (_origin, url) = origin(&[]);
    let url = url.replace("http://", "grpc://");
    let echo = format!("{url}/hoptax.echo.v1.Echo/ServerStream");
    // The test origin responds three times.
    let result = load(&["--grpc-stream", "server", "--body", "hop", &echo]);
    let answered = result["book"]["answered"].as_u64().unwrap();
    assert!(answered > 0 && result["book"]["answered"] == result["book"]["sent"], "{result}");
    assert_eq!(result["messages"]["count"], 3 * answered, "{result}");

    // The echo responds to each message as it arrives, and so does this service.
    let folder = tempfile::tempdir().unwrap();
    let message = folder.path().join("message").display().to_string();
    fs::write(&message, [0x12, 0]).unwrap();
    for path in ["/hoptax.echo.v1.Echo/Bidirectional", "/envoy.service.ext_proc.v3.ExternalProcessor/Process"]
    {
        let flags = ["--grpc-stream", "both", "--messages", "20", "--body-file", &message];
        let result = load(&[&flags[..], &["--expect", "size=140", &format!("{url}{path}")]].concat());
        conversations(&result, 20);
    }
}

/// Asserts that every call had this number of messages, each with its time.
fn conversations(result: &Value, messages: u64) {
    let answered = result["book"]["answered"].as_u64().unwrap();
    assert!(answered > 0 && result["book"]["answered"] == result["book"]["sent"], "{result}");
    assert_eq!(result["messages"]["count"], messages * answered, "{result}");
    assert_eq!(result["plan"]["grpc_stream"], format!("both={messages}"));
    // Messages follow each other, so their times add up to no more than those of the calls.
    // A result withholds times where the machine was too busy for them.
    let sum = |of: &Value| Some(of["mean_us"].as_f64()? * of["count"].as_f64()?);
    if let (Some(messages), Some(calls)) = (sum(&result["messages"]), sum(&result["latency"]["service"])) {
        assert!(messages > 0.0 && messages <= calls * 1.001, "{messages} {calls}");
    }
}

#[test]
fn a_conversation_is_answered_message_by_message_whatever_their_size_and_delay() {
    let (_origin, url) = origin(&[]);
    let echo = format!("{}/hoptax.echo.v1.Echo/Bidirectional", url.replace("http://", "grpc://"));
    // Each message takes several frames, and a call more than the first window of its stream.
    let large = ["--grpc-stream", "both", "--messages", "10", "--body-size", "2000000"];
    conversations(&load_with(&["-q", "5", "-n", "2"], &[&large[..], &[&echo]].concat()), 10);
    // The delay is that of each message.
    let slow = format!("{echo}?delay=5ms");
    let result = load(&["--grpc-stream", "both", "--messages", "5", "--body", "hop", &slow]);
    conversations(&result, 5);
    for (times, least_us) in [(&result["messages"], 5_000.0), (&result["latency"]["service"], 25_000.0)] {
        // A result withholds times where the machine was too busy for them.
        assert!(times["min_us"].as_f64().is_none_or(|min_us| min_us >= least_us), "{result}");
    }
    let failing = format!("{echo}?status=503");
    let result = load(&["--grpc-stream", "both", "--messages", "5", "--body", "hop", &failing]);
    assert_eq!(result["messages"]["count"].as_u64().unwrap_or(0), 0, "{result}");
    assert_eq!(result["failures"]["grpc-status"], result["book"]["sent"], "{result}");
}

#[test]
fn a_stream_of_the_client_has_a_share_of_the_calls_time_per_message() {
    let (_origin, url) = origin(&["--default", "delay=5ms"]);
    let url = url.replace("http://", "grpc://");
    let call = format!("{url}/hoptax.echo.v1.Echo/ClientStream");
    let result = load(&["--grpc-stream", "client", "--messages", "20", "--body", "hop", &call]);
    let answered = result["book"]["answered"].as_u64().unwrap();
    assert!(answered > 0 && result["book"]["answered"] == result["book"]["sent"], "{result}");
    assert_eq!(result["messages"]["count"], answered, "{result}");
    assert_eq!(result["plan"]["grpc_stream"], "client=20");
    // A result withholds times where the machine was too busy for them.
    let mean_us = |of: &Value| of["mean_us"].as_f64();
    if let (Some(message), Some(call)) =
        (mean_us(&result["messages"]), mean_us(&result["latency"]["service"]))
    {
        assert!(call >= 5_000.0 && (message * 20.0 / call - 1.0).abs() < 0.01, "{message} {call}");
    }
    run(["load", "--grpc-stream", "client", &call]).fails(2, "add `--messages");
}

#[test]
fn messages_are_timed_only_on_request_and_where_possible() {
    let (_origin, url) = origin(&[]);
    let grpc = format!("{}/hoptax.echo.v1.Echo/Unary", url.replace("http://", "grpc://"));
    assert_eq!(load(&["--body", "hop", &grpc])["messages"], Value::Null);
    run(["load", "--grpc-stream", "both", &url]).fails(2, "is for gRPC");
}
