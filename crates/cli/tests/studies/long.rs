//! Studies that take minutes: `make test-long`.

mod bill;
mod bill_continues;
mod gate;
mod gate_in_ci;
mod lint_limits;
mod lint_requests;
mod lint_times;
mod listeners_check;
mod listeners_run;
mod smoke;
mod timeline;
