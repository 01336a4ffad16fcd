//! Names of servers, in a program that is linked with glibc statically, as releases are.
//!
//! glibc looks names up with the plugins that `/etc/nsswitch.conf` lists. A static program would load those of the machine, and with them
//! the glibc that they were made for, which crashes it if the versions differ. `/etc/hosts` and DNS need no plugin since glibc 2.34.

/// Has a static program look names up in `/etc/hosts` and by DNS alone, whatever the machine is configured to ask. Call it before the
/// first name is looked up. Other programs ask what their machine is configured to ask.
pub fn ask_hosts_and_dns_alone() {
    #[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
    static_glibc::ask_hosts_and_dns_alone();
}

#[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
#[allow(unsafe_code, reason = "glibc has no safe interface for its choice of plugins")]
mod static_glibc {
    use std::ffi::{c_char, c_int};

    unsafe extern "C" {
        /// Declared in `<nss.h>`: takes the place of the line of a database in `/etc/nsswitch.conf`.
        fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
    }

    pub(super) fn ask_hosts_and_dns_alone() {
        // SAFETY: both are strings that end with a zero, and glibc keeps neither.
        let refused = unsafe { __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr()) };
        debug_assert_eq!(refused, 0, "glibc knows the database and both services");
    }
}
