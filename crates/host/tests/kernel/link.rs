//! Delay, jitter, rate and loss of a link between two namespaces. Without the privilege to create namespaces, only the error
//! message is tested.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use hoptax_host::link::{FAR, Link, LinkSpec};

const PLAIN: LinkSpec =
    LinkSpec { delay: Duration::from_micros(17_500), jitter: Duration::ZERO, rate: None, loss: 0.0, seed: 1 };

/// The link; None without the required privileges, which is printed.
fn link(spec: &LinkSpec) -> Option<Link> {
    match Link::create(spec) {
        Ok(link) => Some(link),
        Err(error) if rustix::process::geteuid().is_root() => panic!("{error}"),
        Err(error) => {
            assert!(error.to_string().contains("needs root"), "{error}");
            eprintln!("not tested: {error}");
            None
        }
    }
}

/// A server at the far end that runs `serve` for every connection.
fn far_server(link: &Link, serve: fn(TcpStream)) -> SocketAddr {
    let listener = link.far.within(|| TcpListener::bind((FAR, 0)).unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    address
}

fn connect(link: &Link, address: SocketAddr) -> TcpStream {
    let stream = link.near.within(|| TcpStream::connect(address).unwrap()).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn echo(mut stream: TcpStream) {
    let mut bytes = [0; 64];
    while let Ok(count) = stream.read(&mut bytes) {
        if count == 0 || stream.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

fn send_for_ever(mut stream: TcpStream) {
    while stream.write_all(&[b'x'; 8_192]).is_ok() {}
}

/// Received bytes per second on a connection, after 0.7 s of warm-up.
fn bytes_per_second(mut stream: TcpStream) -> f64 {
    let mut bytes = vec![0; 65_536];
    let mut read = |time: Duration| {
        let (began, mut sum) = (Instant::now(), 0);
        while began.elapsed() < time {
            sum += stream.read(&mut bytes).unwrap();
        }
        sum as f64 / began.elapsed().as_secs_f64()
    };
    read(Duration::from_millis(700));
    read(Duration::from_millis(1_500))
}

/// Round-trip times over a link, milliseconds, in ascending order. The shortest is closest to that of the link.
fn round_trips_ms(link: &Link) -> Vec<f64> {
    let mut stream = connect(link, far_server(link, echo));
    let mut round_trips_ms: Vec<f64> = (0..40)
        .map(|_| {
            let began = Instant::now();
            stream.write_all(b"hello").unwrap();
            stream.read_exact(&mut [0; 5]).unwrap();
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    round_trips_ms.sort_by(f64::total_cmp);
    round_trips_ms
}

#[test]
fn a_round_trip_is_twice_the_delay() {
    // The difference of two delays holds no wake-ups, which take 5 us on one machine and 45 us on another.
    let short = Duration::from_micros(2_500);
    let Some(link) = link(&LinkSpec { delay: short, ..PLAIN }) else { return };
    let short_ms = round_trips_ms(&link)[0];
    drop(link);
    let link = Link::create(&PLAIN).unwrap();
    let round_trips_ms = round_trips_ms(&link);
    let min_ms = round_trips_ms[0];
    let expected_ms = 2e3 * (PLAIN.delay.as_secs_f64() - short.as_secs_f64());
    let is_twice = min_ms >= 35.0 && (min_ms - short_ms - expected_ms).abs() < 0.3;
    assert!(is_twice, "{short_ms} ms at a delay of 2.5 ms: {round_trips_ms:?}");
    let [there, back] = link.carried();
    assert!(there.packets >= 40 && back.packets >= 40 && there.lost + back.lost == 0, "{there:?} {back:?}");
    // 40 packets with 5 bytes of data and 52 of IP and TCP headers.
    assert!(there.bytes >= 40 * 57, "{there:?}");
}

#[test]
fn the_receive_window_limits_throughput_over_a_round_trip() {
    let Some(link) = link(&PLAIN) else { return };
    let address = far_server(&link, send_for_ever);
    let rate = |buffer_bytes: usize| {
        let stream = link.near.within(|| {
            use rustix::net::{AddressFamily, SocketType, sockopt};
            let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
            // Set before connecting, so the window is never larger. The kernel doubles the size for its own overhead.
            sockopt::set_socket_recv_buffer_size(&socket, buffer_bytes).unwrap();
            rustix::net::connect(&socket, &address).unwrap();
            TcpStream::from(socket)
        });
        bytes_per_second(stream.unwrap())
    };
    let (half, whole) = (rate(32_768), rate(65_536));
    assert!(whole < 2.0 * 65_536.0 / 0.035, "{whole} is more than the buffer over the round trip");
    assert!((1.6..2.4).contains(&(whole / half)), "{half} and {whole}: twice the window, twice the rate");
}

#[test]
fn the_rate_limits_throughput() {
    let rate = 8_000_000;
    let spec = LinkSpec { delay: Duration::from_millis(2), rate: Some(rate), ..PLAIN };
    let Some(link) = link(&spec) else { return };
    let address = far_server(&link, send_for_ever);
    let got = bytes_per_second(connect(&link, address)) * 8.0;
    // Headers take some 4 % of the rate.
    assert!((0.9 * rate as f64..1.001 * rate as f64).contains(&got), "{got}");
}

#[test]
fn a_small_packet_behind_large_ones_is_not_dropped() {
    let spec = LinkSpec { delay: Duration::from_millis(2), rate: Some(8_000_000), ..PLAIN };
    let Some(link) = link(&spec) else { return };
    let near = link.near.within(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    let far = link.far.within(|| UdpSocket::bind((FAR, 0)).unwrap()).unwrap();
    let address = far.local_addr().unwrap();
    // In a burst, so all but the first wait: 150 ms of traffic, below the queue limit of 1,000 packets.
    for _ in 0..100 {
        near.send_to(&[0; 1_472], address).unwrap();
    }
    near.send_to(b"x", address).unwrap();
    let mut bytes = [0; 2_000];
    // A dropped packet would never be received.
    far.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    while far.recv(&mut bytes).unwrap() > 1 {}
    let [there, _] = link.carried();
    // The kernel sends packets of its own.
    assert!(there.packets >= 101 && there.lost == 0, "{there:?}");
}

#[test]
fn jitter_varies_the_gaps_and_loss_drops_its_share() {
    let delays = (Duration::from_millis(5), Duration::from_millis(4));
    let spec = LinkSpec { delay: delays.0, jitter: delays.1, loss: 0.1, ..PLAIN };
    let Some(link) = link(&spec) else { return };
    let near = link.near.within(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    let far = link.far.within(|| UdpSocket::bind((FAR, 0)).unwrap()).unwrap();
    let address = far.local_addr().unwrap();
    let sending = thread::spawn(move || {
        for _ in 0..400 {
            near.send_to(b"x", address).unwrap();
            thread::sleep(Duration::from_millis(10));
        }
    });
    far.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let (mut gaps_ms, mut last) = (Vec::new(), None);
    while far.recv(&mut [0; 8]).is_ok() {
        let now = Instant::now();
        gaps_ms.extend(last.replace(now).map(|last: Instant| (now - last).as_secs_f64() * 1e3));
    }
    sending.join().unwrap();
    let received = gaps_ms.len() + 1;
    // Binomial with 10 % loss: 360, within four standard deviations of 6.
    assert!((336..385).contains(&received), "{received}");
    let varied = gaps_ms.iter().filter(|gap| (**gap - 10.0).abs() > 1.0).count();
    assert!(varied > received / 2, "{varied} of {received} gaps vary");
}
