//! Computes the response to a request of HTTP/2 or HTTP/3: the common part of both protocols.

use hoptax_wire::http2::{Body, Head};

use crate::Served;
use crate::behaviour::{BadParameter, Behaviour, Drawn, HEADER_PREFIX};
use crate::context::Context;
use crate::grpc;
use crate::response::{CONTENT_TYPE, Response, TEXT_TYPE, body_piece, has_no_body, states_type};

/// A response with its plan.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) response: Response,
    /// Time of its departure; none if the parameters of the request are invalid, and it departs at once.
    pub(crate) plan: Option<Served>,
    /// True if the connection closes after it.
    pub(crate) closes: bool,
}

/// The response to a request on this connection of the worker. The body is that of a gRPC call.
pub(crate) fn respond(head: &Head, body: &[u8], connection: u64, context: &mut Context) -> Planned {
    let behaviour = match behaviour(head, context) {
        Ok(behaviour) => behaviour,
        Err(error) => {
            let response = if head.is_grpc() {
                grpc::failed(grpc::INVALID_ARGUMENT, &error.to_string())
            } else {
                text(400, &format!("{error}\n"))
            };
            return Planned { response, plan: None, closes: false };
        }
    };
    let drawn = behaviour.draw(&context.tables, &mut context.random);
    let plan = Some(context.plan(connection, &drawn));
    let response = if head.is_grpc() {
        grpc::response(head, body, &drawn, &mut context.services)
    } else {
        response(&drawn, head.method == "HEAD", behaviour.headers())
    };
    Planned { response, plan, closes: drawn.close }
}

/// Fields as borrowed pairs.
pub(crate) fn pairs(fields: &[(String, String)]) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// The parameters in the query and headers of a request.
pub(crate) fn behaviour(head: &Head, context: &Context) -> Result<Behaviour, BadParameter> {
    let mut behaviour = context.defaults.behaviour.clone();
    if let Some((_, query)) = head.path.split_once('?') {
        behaviour.apply_query(query, &context.tables)?;
    }
    for (name, value) in &head.fields {
        if let Some(parameter) = name.strip_prefix(HEADER_PREFIX) {
            behaviour.apply(parameter, value, &context.tables)?;
        }
    }
    behaviour.check()?;
    Ok(behaviour)
}

/// The response to an HTTP request.
fn response(drawn: &Drawn, is_head: bool, headers: &[(String, String)]) -> Response {
    let size = if has_no_body(drawn.status) { 0 } else { drawn.size };
    let mut fields = vec![(":status".to_owned(), drawn.status.to_string())];
    if !states_type(headers) {
        fields.push((CONTENT_TYPE.to_owned(), TEXT_TYPE.to_owned()));
    }
    fields.push(("content-length".to_owned(), size.to_string()));
    fields.extend(headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
    let body = Body::Text(if is_head { 0 } else { size }, body_piece);
    Response { fields, body, trailers: Vec::new() }
}

/// A response with a short text.
fn text(status: u16, text: &str) -> Response {
    let fields = vec![
        (":status".to_owned(), status.to_string()),
        (CONTENT_TYPE.to_owned(), TEXT_TYPE.to_owned()),
        ("content-length".to_owned(), text.len().to_string()),
    ];
    Response { fields, body: Body::Bytes(text.as_bytes().to_vec()), trailers: Vec::new() }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;
    use crate::table::Tables;

    #[test]
    fn a_stated_type_of_the_body_replaces_the_usual_one() {
        let drawn = Behaviour::default().draw(&Tables::default(), &mut SmallRng::seed_from_u64(1));
        let types = |headers: &[(String, String)]| -> Vec<String> {
            let fields = response(&drawn, false, headers).fields;
            fields.into_iter().filter(|(name, _)| name == CONTENT_TYPE).map(|(_, value)| value).collect()
        };
        assert_eq!(types(&[]), [TEXT_TYPE]);
        assert_eq!(
            types(&[("Content-Type".to_owned(), "application/json".to_owned())]),
            ["application/json"]
        );
    }
}
