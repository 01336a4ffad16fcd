//! The program `image-registry`: the application alone. `image-registry-lab` starts it behind Envoy.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use image_registry::application::{self, Data, Settings};

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
    /// The side that refuses pulls beyond the plan
    #[arg(long, value_enum, default_value = "proxy")]
    enforced_by: Enforcement,
    /// Serve an account and an image that `hoptax study image-registry` knows, from memory instead of FOLDER
    #[arg(long)]
    sample: bool,
    /// Pulls per minute of the sample's account
    #[arg(long, value_name = "PULLS", requires = "sample", default_value_t = 1000)]
    pulls_per_minute: u32,
}

/// The side that refuses pulls beyond the plan.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Enforcement {
    /// A proxy in front of the application, which only records pulls
    Proxy,
    /// The application
    Application,
}

fn main() -> ExitCode {
    let Arguments { listen, usage_listen, folder, enforced_by, sample, pulls_per_minute } =
        Arguments::parse();
    let data = if sample { Data::Sample { pulls_per_minute } } else { Data::Folder(folder) };
    let settings = Settings { listen, usage_listen, data, enforce: enforced_by == Enforcement::Application };
    // The parent process reads the addresses from these lines.
    let report = |line: &str| drop(writeln!(std::io::stdout(), "{line}"));
    // One thread, like the origin of a study.
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
