//! The REST API. Its operations are one list, which the router and the OpenAPI document are both made of.

mod compare;
mod jobs;
mod loads;
mod operation;
mod runs;
mod stream;

use std::sync::Arc;

use axum::Router;

use crate::app::App;

pub(crate) use operation::{Answer, Operation, Place};

/// The path that all of its paths begin with.
pub(crate) const BASE: &str = "/api/v1";

/// All operations of the API.
pub(crate) fn operations() -> impl Iterator<Item = &'static Operation> {
    [runs::OPERATIONS, compare::OPERATIONS, loads::OPERATIONS, jobs::OPERATIONS].into_iter().flatten()
}

/// The routes of all operations.
pub(crate) fn routes() -> Router<Arc<App>> {
    operations().fold(Router::new(), |router, operation| {
        router.route(&format!("{BASE}{}", operation.path), (operation.route)())
    })
}
