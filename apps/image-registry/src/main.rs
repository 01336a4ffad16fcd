//! The program `image-registry`: the application alone. `image-registry-lab` starts it behind Envoy.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use image_registry::application::{self, Settings};

/// A registry of images with plans.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Address for clients; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Address for the data plane, which asks for the pulls of accounts; clients must not reach it
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    usage_listen: SocketAddr,
    /// Folder of the key and the storage; created if there is none
    #[arg(long, value_name = "FOLDER", default_value = "runs/image-registry")]
    folder: PathBuf,
    /// Refuse pulls beyond the plan, instead of leaving this to a proxy
    #[arg(long)]
    enforce: bool,
}

fn main() -> ExitCode {
    let Arguments { listen, usage_listen, folder, enforce } = Arguments::parse();
    let settings = Settings { listen, usage_listen, folder, enforce };
    // The parent process reads the addresses from these lines.
    let report = |line: &str| drop(writeln!(std::io::stdout(), "{line}"));
    // One thread, as the origin of a study has.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ran = runtime.map_err(|error| format!("cannot start: {error}")).and_then(|runtime| {
        runtime.block_on(application::run(&settings, report)).map_err(|error| error.to_string())
    });
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("image-registry: {error}");
            ExitCode::from(3)
        }
    }
}
