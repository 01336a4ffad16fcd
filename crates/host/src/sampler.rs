//! Samples where threads of other processes spend CPU time, without perf: the kernel's `cpu-clock` event, with call stacks.
//!
//! The kernel writes a sample for each period of CPU time of a thread into a buffer of that thread (`perf_event_open(2)`). Nothing is
//! read before the end, so sampling takes no CPU time of this process. Addresses become functions from the symbol tables of the programs,
//! their libraries and the kernel, while the processes are still there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use perf_event::data::Record;
use perf_event::events::Software;
use perf_event::{Builder, SampleFlag, Sampler as Buffer};

/// The name of a function without a symbol.
pub const UNKNOWN: &str = "[unknown]";
/// The object of functions of the kernel and its modules.
pub const KERNEL: &str = "[kernel.kallsyms]";

/// Size of the buffer of a thread, bytes: for over a second of 2,000 samples with stacks of a hundred frames.
const BUFFER_BYTES: usize = 4 << 20;
/// Addresses from here on mark which part of a stack follows (`PERF_CONTEXT_MAX`).
const FIRST_MARK: u64 = -4095_i64 as u64;
/// The mark of the part in the kernel (`PERF_CONTEXT_KERNEL`).
const KERNEL_MARK: u64 = -128_i64 as u64;
/// The mark of the part in the program (`PERF_CONTEXT_USER`).
const PROGRAM_MARK: u64 = -512_i64 as u64;

/// A running sampling of some processes.
pub struct Sampler {
    threads: Vec<(u32, Buffer)>,
    period_ns: u64,
}

/// One sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// The CPU time that it stands for, nanoseconds.
    pub cpu_ns: u64,
    /// Its functions, the innermost first.
    pub frames: Vec<Function>,
}

/// A function of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its name, [`UNKNOWN`] without a symbol.
    pub symbol: String,
    /// The file that it is in: the path of a program or library, or a name in brackets.
    pub object: String,
}

/// An address of a stack; the first value is true if it is in the kernel.
type Address = (bool, u64);

impl Sampler {
    /// Starts to sample all current threads of the processes, `frequency` times per second of CPU time.
    ///
    /// # Errors
    /// When a process has ended, and when the kernel refuses: it requires root, or `kernel.perf_event_paranoid` of 1 or less.
    pub fn start(processes: &[u32], frequency: u32) -> io::Result<Self> {
        let period_ns = 1_000_000_000 / u64::from(frequency.max(1));
        let mut threads = Vec::new();
        for process in processes {
            for entry in fs::read_dir(format!("/proc/{process}/task"))? {
                let name = entry?.file_name();
                let Some(thread) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
                let mut builder = Builder::new(Software::CPU_CLOCK);
                builder.observe_pid(thread).any_cpu().include_kernel().enabled(true);
                builder.sample_period(period_ns).sample(SampleFlag::CALLCHAIN);
                threads.push((*process, builder.build()?.sampled(BUFFER_BYTES)?));
            }
        }
        Ok(Self { threads, period_ns })
    }

    /// Ends sampling and returns the samples. The processes must still be there.
    ///
    /// # Errors
    /// When the buffers or the memory map of a process cannot be read.
    pub fn end(mut self) -> io::Result<Vec<Stack>> {
        let mut stacks: BTreeMap<u32, Vec<Vec<Address>>> = BTreeMap::new();
        for (process, buffer) in &mut self.threads {
            buffer.as_counter_mut().disable()?;
            while let Some(record) = buffer.next_record() {
                let parsed = record.parse_record().map_err(io::Error::other)?;
                if let Record::Sample(sample) = parsed {
                    stacks
                        .entry(*process)
                        .or_default()
                        .push(addresses(sample.callchain().unwrap_or_default()));
                }
            }
        }
        let symbolizer = Symbolizer::builder().enable_code_info(false).enable_inlined_fns(false).build();
        let mut all = Vec::new();
        for (process, stacks) in stacks {
            let names = names(&symbolizer, process, &stacks.iter().flatten().copied().collect())?;
            all.extend(stacks.into_iter().map(|stack| Stack {
                cpu_ns: self.period_ns,
                frames: stack.iter().filter_map(|address| names.get(address).cloned()).collect(),
            }));
        }
        Ok(all)
    }
}

/// The addresses of a call chain without its marks.
fn addresses(chain: &[u64]) -> Vec<Address> {
    let mut is_in_kernel = false;
    let mut found = Vec::with_capacity(chain.len());
    for address in chain {
        match *address {
            KERNEL_MARK => is_in_kernel = true,
            PROGRAM_MARK => is_in_kernel = false,
            mark if mark >= FIRST_MARK => {}
            address => found.push((is_in_kernel, address)),
        }
    }
    found
}

/// The functions at these addresses of a process.
fn names(
    symbolizer: &Symbolizer,
    process: u32,
    addresses: &BTreeSet<Address>,
) -> io::Result<BTreeMap<Address, Function>> {
    let maps = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("maps"))?;
    let objects = objects(&maps);
    let mut found = BTreeMap::new();
    let of_process = Source::Process(Process { debug_syms: false, ..Process::new(process.into()) });
    for (is_in_kernel, source) in [(true, Source::Kernel(Kernel::default())), (false, of_process)] {
        let asked: Vec<u64> = addresses
            .iter()
            .filter(|(kernel, _)| *kernel == is_in_kernel)
            .map(|(_, address)| *address)
            .collect();
        if asked.is_empty() {
            continue;
        }
        // Without the right to read the kernel's symbols, its functions stay unknown.
        let symbols = symbolizer.symbolize(&source, Input::AbsAddr(&asked)).unwrap_or_default();
        let mut symbols = symbols.into_iter();
        for address in asked {
            let symbol = match symbols.next() {
                Some(Symbolized::Sym(symbol)) => symbol.name.into_owned(),
                Some(Symbolized::Unknown(_)) | None => UNKNOWN.to_owned(),
            };
            let object = if is_in_kernel { KERNEL } else { object(&objects, address) };
            found.insert((is_in_kernel, address), Function { symbol, object: object.to_owned() });
        }
    }
    Ok(found)
}

/// A file that is mapped into a process.
struct MappedFile<'a> {
    /// The first and the last address.
    first: u64,
    last: u64,
    /// Its path, or a name in brackets.
    path: &'a str,
}

/// The mapped files of `/proc/PID/maps`.
fn objects(maps: &str) -> Vec<MappedFile<'_>> {
    let object = |line| -> Option<MappedFile<'_>> {
        let (range, rest) = str::split_once(line, ' ')?;
        let (first, end) = range.split_once('-')?;
        let [first, end] = [first, end].map(|text| u64::from_str_radix(text, 16).ok());
        // Permissions, offset, device and inode come before the path, which may contain spaces.
        let path = rest.splitn(5, ' ').nth(4).map_or("", str::trim);
        Some(MappedFile { first: first?, last: end?.checked_sub(1)?, path })
    };
    maps.lines().filter_map(object).collect()
}

fn object<'a>(objects: &[MappedFile<'a>], address: u64) -> &'a str {
    let after = objects.partition_point(|object| object.first <= address);
    let last = after.checked_sub(1).and_then(|number| objects.get(number));
    let found = last.filter(|object| address <= object.last && !object.path.is_empty());
    found.map_or(UNKNOWN, |object| object.path)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    #[test]
    fn marks_divide_a_chain_into_kernel_and_program() {
        let guest = -2048_i64 as u64;
        let chain = [KERNEL_MARK, 1, 2, PROGRAM_MARK, 3, guest, 4];
        assert_eq!(addresses(&chain), [(true, 1), (true, 2), (false, 3), (false, 4)]);
        assert!(addresses(&[]).is_empty());
    }

    #[test]
    fn an_address_belongs_to_the_file_that_is_mapped_there() {
        let maps = "1000-2000 r-xp 00000000 fe:00 17                 /opt/with space/envoy\n\
                    2000-3000 rw-p 00000000 00:00 0 \n\
                    ff00-ff80 r-xp 00000000 00:00 0                  [vdso]\nbroken\n";
        let objects = objects(maps);
        let of = |address| object(&objects, address);
        assert_eq!(of(0x1fff), "/opt/with space/envoy");
        assert_eq!((of(0x2000), of(0xfff), of(0x3000)), (UNKNOWN, UNKNOWN, UNKNOWN));
        assert_eq!(of(0xff00), "[vdso]");
    }

    /// A process that ends with the test.
    struct Busy(Child);

    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = (self.0.kill(), self.0.wait());
        }
    }

    #[test]
    fn a_busy_process_has_samples_in_the_kernel_and_in_its_program() {
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "of=/dev/null", "bs=64k"]).stderr(Stdio::null());
        let busy = Busy(command.spawn().unwrap());
        let sampler = match Sampler::start(&[busy.0.id()], 1_999) {
            Ok(sampler) => sampler,
            Err(error) => {
                assert!(!rustix::process::geteuid().is_root(), "{error}");
                eprintln!("not tested: {error}");
                return;
            }
        };
        let before = cpu_ns(busy.0.id());
        while cpu_ns(busy.0.id()) - before < 300_000_000 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let used = cpu_ns(busy.0.id()) - before;
        let stacks = sampler.end().unwrap();
        let sampled: u64 = stacks.iter().map(|stack| stack.cpu_ns).sum();
        assert!(
            sampled as f64 > 0.8 * used as f64 && (sampled as f64) < 1.2 * used as f64 + 5e7,
            "{sampled} of {used}"
        );
        let frames = || stacks.iter().flat_map(|stack| &stack.frames);
        assert!(frames().any(|frame| frame.object == KERNEL && frame.symbol.contains("read")));
        assert!(frames().any(|frame| frame.object.ends_with("/dd") || frame.object.contains("libc")));
    }

    fn cpu_ns(process: u32) -> u64 {
        let text = fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap();
        text.split_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    fn a_process_that_has_ended_is_an_error() {
        let mut ended = Command::new("true").spawn().unwrap();
        let id = ended.id();
        ended.wait().unwrap();
        assert!(Sampler::start(&[id], 1_999).is_err());
    }
}
