//! The REST API. Its operations are one list, from which both the router and the OpenAPI document are generated.

mod bills;
mod compare;
mod finds;
mod jobs;
mod labels;
mod loads;
mod operation;
mod runs;
mod start;
mod stream;
mod studies;

use std::sync::Arc;

use axum::Router;

use crate::app::App;

pub(crate) use operation::{Answer, Operation, Place};

/// The common prefix of all API paths.
pub(crate) const BASE: &str = "/api/v1";

/// The operations, one line for each kind of resource.
const ALL: [&[Operation]; 8] = [
    runs::OPERATIONS,
    labels::OPERATIONS,
    compare::OPERATIONS,
    loads::OPERATIONS,
    finds::OPERATIONS,
    studies::OPERATIONS,
    bills::OPERATIONS,
    jobs::OPERATIONS,
];

/// All operations of the API.
pub(crate) fn operations() -> impl Iterator<Item = &'static Operation> {
    ALL.into_iter().flatten()
}

/// The routes of all operations.
pub(crate) fn routes() -> Router<Arc<App>> {
    operations().fold(Router::new(), |router, operation| {
        router.route(&format!("{BASE}{}", operation.path), (operation.route)())
    })
}
