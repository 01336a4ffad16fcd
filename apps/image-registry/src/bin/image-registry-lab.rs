//! The program `image-registry-lab`: the image registry behind Envoy, until Ctrl-C.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Parser;
use image_registry::lab::{ApplicationProcess, LabError, Mechanism};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Interval at which it polls for Ctrl-C and for ended processes.
const POLL: Duration = Duration::from_millis(100);

/// The image registry behind Envoy, which enforces the plans.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The mechanism that enforces the plans
    #[arg(long, value_enum, default_value = "wasm")]
    mechanism: Mechanism,
    /// Address of the proxy; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Folder of accounts, images, configurations and logs; created if there is none
    #[arg(long, value_name = "FOLDER", default_value = "runs/image-registry")]
    folder: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("image-registry-lab: {error}");
            ExitCode::from(3)
        }
    }
}

fn run(Arguments { mechanism, listen, folder }: &Arguments) -> Result<(), LabError> {
    let error = |path: PathBuf| move |source| LabError::File { path, source };
    // Before the first child starts, so that Ctrl-C always ends all children.
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(error("signals".into()))?;
    let this = std::env::current_exe().map_err(error("/proc/self/exe".into()))?;
    let mut application = ApplicationProcess::start(&this.with_file_name("image-registry"), folder, &[])?;
    // Two workers, which share the counts.
    let spec = application.behind(*mechanism, *listen, 2)?;
    spec.configure()?;
    spec.validate(&AtomicBool::new(false))?;
    let mut proxy = spec.start()?.wait()?;
    let place = match mechanism {
        Mechanism::Wasm => "a WebAssembly filter",
        Mechanism::Module => "a dynamic module",
    };
    eprintln!("image registry: http://{}", proxy.address);
    eprintln!("plans enforced by {place} in Envoy, configured by {}", spec.config().display());
    eprintln!("Ctrl-C ends it; accounts and images stay in {}", folder.display());
    while signals.pending().next().is_none() {
        application.check()?;
        proxy.check()?;
        std::thread::sleep(POLL);
    }
    proxy.end()?;
    Ok(())
}
