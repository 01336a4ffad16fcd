use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

/// The result of the question for a dump, for the bytes that an admin interface answers with, and the request that it got.
fn asked(answer: &'static [u8]) -> (Result<(u16, Vec<u8>), String>, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (ours, mut theirs): (DuplexStream, DuplexStream) = duplex(1 << 16);
        let server = tokio::spawn(async move {
            let mut request = vec![0; 4096];
            let length = theirs.read(&mut request).await.unwrap();
            theirs.write_all(answer).await.unwrap();
            String::from_utf8(request[..length].to_vec()).unwrap()
        });
        let asked = ask(ours, &DUMP).await;
        (asked, server.await.unwrap())
    })
}

#[test]
fn an_admin_interface_is_asked_for_its_dump_with_endpoints() {
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{\"c\r\n4\r\n\": 1\r\n1\r\n}\r\n0\r\n\r\n";
    let (answer, request) = asked(chunked);
    assert_eq!(answer, Ok((200, b"{\"c\": 1}".to_vec())));
    assert!(request.starts_with("GET /config_dump?include_eds HTTP/1.1\r\n"), "{request}");
    let (answer, _) = asked(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno");
    assert_eq!(answer, Ok((404, b"no".to_vec())));
}

#[test]
fn an_answer_that_ends_early_or_is_no_http_is_no_answer() {
    let (early, _) = asked(b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{");
    assert!(early.unwrap_err().contains("ended early"));
    for other in [&b"SSH-2.0-OpenSSH_9.2\r\n"[..], b""] {
        let (answer, _) = asked(other);
        assert!(!answer.unwrap_err().is_empty());
    }
}
