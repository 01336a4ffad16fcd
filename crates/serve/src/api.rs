//! The REST API. Its operations are one list, which the router and the OpenAPI document are both made of.

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

/// The path that all of its paths begin with.
pub(crate) const BASE: &str = "/api/v1";

/// The operations of each kind of thing, one line for each.
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
