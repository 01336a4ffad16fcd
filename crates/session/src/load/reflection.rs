//! Gets the service definitions of a gRPC server by reflection.

use hoptax_load::{
    Dial, GrpcCallError, Protocol, RequestSpec, Resolver, Target, grpc_call, join_url, without_user,
};
use hoptax_wire::grpc::{self, framed};
use hoptax_wire::proto::{REFLECTION_PATHS, Reflection, Services};

use super::Load;
use crate::failure::Failure;

/// gRPC status of an unknown method.
const UNIMPLEMENTED: u16 = 12;

/// Gets the definitions of the services that the URLs call from their server.
pub(super) fn services(load: &Load, resolver: &Resolver, dial: &Dial) -> Result<Services, Failure> {
    let urls = &load.requests.urls;
    let first = urls.first().map_or("", |url| &**url);
    let target = |url: &str, body| {
        Target::from_spec(&RequestSpec {
            url,
            body,
            protocol: Some(Protocol::Grpc),
            server_name: load.tls.server_name.as_deref(),
            resolver: Some(resolver),
            ..RequestSpec::default()
        })
        .map_err(Failure::bad_input)
    };
    let server = target(first, Vec::new())?;
    let security = match server.server_name {
        Some(_) => Some(load.tls.config(Some(b"h2"))?),
        None => None,
    };
    let host = without_user(&join_url(first, "/"));
    let host = host.trim_end_matches('/');
    let targets: Vec<Target> =
        urls.iter().map(|url| target(url, Vec::new())).collect::<Result<_, Failure>>()?;
    let mut reflection = Reflection::new(host, targets.iter().map(Target::path));
    let mut version = 0;
    while let Some(request) = reflection.next_request() {
        let response = loop {
            let path = REFLECTION_PATHS.get(version).copied().unwrap_or_default();
            let target = target(&join_url(first, path), framed(&request))?;
            match grpc_call(&target, dial, security.as_ref(), load.requests.timeout) {
                Err(GrpcCallError::Refused { grpc_status: Some(UNIMPLEMENTED), .. })
                    if version + 1 < REFLECTION_PATHS.len() =>
                {
                    version += 1;
                }
                Err(GrpcCallError::Refused { grpc_status: Some(UNIMPLEMENTED), .. }) => {
                    return Err(Failure::bad_input(format!(
                        "`{host}` does not support gRPC reflection; give the proto file with --proto"
                    )));
                }
                response => {
                    break response.map_err(|error| {
                        Failure::bad_input(format!("gRPC reflection on `{host}` failed: {error}"))
                    })?;
                }
            }
        };
        let message = grpc::first(&response).map(|(message, _)| message).unwrap_or_default();
        reflection.take(message).map_err(Failure::bad_input)?;
    }
    reflection.services().map_err(Failure::bad_input)
}
