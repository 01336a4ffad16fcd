//! The probe of a machine before a measurement.

use hoptax_host::machine;
use hoptax_host::processors::Placement;
use hoptax_result::MachineProbe;

use crate::failure::Failure;

/// Probes the machine; briefly for a study of seconds, which the whole probe would outlast.
///
/// # Errors
/// When the kernel refuses an operation that the probe needs.
pub(crate) fn probe(placement: &Placement, is_short: bool) -> Result<MachineProbe, Failure> {
    let probed = if is_short { machine::probe_briefly(placement) } else { machine::probe(placement) };
    probed.map_err(|error| Failure::environment(format!("cannot probe the machine: {error}")))
}
