//! Server reflection (`grpc.reflection.v1`): discovers a server's services, message by message, without I/O; the caller
//! transports the messages.

use std::collections::BTreeSet;

use prost::Message;
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};

use super::Services;
use super::error::ProtoError;

/// The paths of the call, the newer first. Both use the same messages.
pub const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];
/// Maximum number of files of a server; discovery fails beyond it.
const MAX_FILES: usize = 1000;

/// A request; one of its fields is set.
#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(string, optional, tag = "3")]
    file_by_filename: Option<String>,
    #[prost(string, optional, tag = "4")]
    file_containing_symbol: Option<String>,
    #[prost(string, optional, tag = "7")]
    list_services: Option<String>,
}

/// A response; one of its fields is set.
#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(message, optional, tag = "4")]
    files: Option<Files>,
    #[prost(message, optional, tag = "6")]
    services: Option<Listed>,
    #[prost(message, optional, tag = "7")]
    error: Option<Refusal>,
}

#[derive(Clone, PartialEq, Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    descriptors: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Listed {
    #[prost(message, repeated, tag = "1")]
    services: Vec<Service>,
}

#[derive(Clone, PartialEq, Message)]
struct Service {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Refusal {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// The syntaxes of files that are read. A file without one has the first.
const SYNTAXES: [&str; 2] = ["proto2", "proto3"];

/// A reflection session with a server about the services of some calls.
#[derive(Debug)]
pub struct Reflection {
    server: String,
    /// Pending requests.
    requests: Vec<Request>,
    /// The last request.
    sent: Request,
    wanted: BTreeSet<String>,
    files: Vec<FileDescriptorProto>,
}

impl Reflection {
    /// A session with `server` about the services of these call paths.
    pub fn new<'a>(server: &str, paths: impl IntoIterator<Item = &'a str>) -> Self {
        let services: BTreeSet<&str> = paths.into_iter().map(|path| super::names(path).0).collect();
        let about = |service: &str| Request {
            file_containing_symbol: Some(service.to_owned()),
            ..Request::default()
        };
        Self {
            server: server.to_owned(),
            requests: services.into_iter().map(about).collect(),
            sent: Request::default(),
            wanted: BTreeSet::new(),
            files: Vec::new(),
        }
    }

    /// The next message for the server; None when the session is complete.
    pub fn next_request(&mut self) -> Option<Vec<u8>> {
        self.sent = self.requests.pop()?;
        Some(self.sent.encode_to_vec())
    }

    /// Processes the server's response to the last message.
    ///
    /// # Errors
    /// When it is invalid, or reports that there is no such service.
    pub fn take(&mut self, response: &[u8]) -> Result<(), ProtoError> {
        let response = Response::decode(response).map_err(|error| self.bad(&error.to_string()))?;
        if let Some(listed) = response.services {
            let known = listed.services.into_iter().map(|service| service.name).collect();
            let service = self.sent.list_services.clone().unwrap_or_default();
            return Err(ProtoError::Service { source_name: self.server.clone(), service, known });
        }
        if let Some(refusal) = response.error {
            let Some(service) = self.sent.file_containing_symbol.take() else {
                return Err(self.bad(&refusal.message));
            };
            // The server has no such service: ask which it has. That response ends the session, and is only used for the
            // error message.
            self.requests = vec![Request { list_services: Some(service), ..Request::default() }];
            return Ok(());
        }
        for descriptor in response.files.ok_or_else(|| self.bad("an empty response"))?.descriptors {
            let file =
                FileDescriptorProto::decode(&*descriptor).map_err(|error| self.bad(&error.to_string()))?;
            // The library panics on any other.
            if !SYNTAXES.contains(&file.syntax.as_deref().unwrap_or(SYNTAXES[0])) {
                let reason = format!(
                    "`{}` has the syntax `{}`, and only proto2 and proto3 are read: give a proto file with --proto",
                    file.name(),
                    file.syntax()
                );
                return Err(self.bad(&reason));
            }
            if self.files.iter().all(|known| known.name() != file.name()) {
                self.wanted.insert(file.name().to_owned());
                self.files.push(file);
            }
        }
        if self.files.len() > MAX_FILES {
            return Err(self.bad("more than 1,000 files"));
        }
        let missing: Vec<String> = self.files.iter().flat_map(|file| &file.dependency).cloned().collect();
        for name in missing {
            if self.wanted.insert(name.clone()) {
                self.requests.push(Request { file_by_filename: Some(name), ..Request::default() });
            }
        }
        Ok(())
    }

    /// The discovered services.
    ///
    /// # Errors
    /// When the files are inconsistent.
    pub fn services(self) -> Result<Services, ProtoError> {
        let bad = |reason: String| ProtoError::Reflection { server: self.server.clone(), reason };
        let set = FileDescriptorSet { file: self.files };
        let pool = DescriptorPool::from_file_descriptor_set(set).map_err(|error| bad(error.to_string()))?;
        Ok(Services { pool, source_name: self.server })
    }

    fn bad(&self, reason: &str) -> ProtoError {
        ProtoError::Reflection { server: self.server.clone(), reason: reason.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptors() -> Vec<FileDescriptorProto> {
        let folder = tempfile::tempdir().unwrap();
        let shop = "syntax = \"proto3\"; package a; import \"kind.proto\"; message Ask { Kind kind = 1; } \
                    service Shop { rpc Buy(Ask) returns (Ask); }";
        let kind = "syntax = \"proto3\"; package a; enum Kind { NONE = 0; FINE = 2; }";
        std::fs::write(folder.path().join("shop.proto"), shop).unwrap();
        std::fs::write(folder.path().join("kind.proto"), kind).unwrap();
        protox::compile(["shop.proto"], [folder.path()]).unwrap().file
    }

    /// A server that returns one file per request.
    fn response(request: &[u8]) -> Vec<u8> {
        let request = Request::decode(request).unwrap();
        let name = match (&request.file_containing_symbol, &request.file_by_filename) {
            (Some(symbol), None) if symbol == "a.Shop" => "shop.proto",
            (None, Some(name)) => name,
            (Some(_), _) => {
                let error = Some(Refusal { code: 5, message: "not found".to_owned() });
                return Response { error, ..Response::default() }.encode_to_vec();
            }
            (None, None) => {
                let services = vec![Service { name: "a.Shop".to_owned() }];
                return Response { services: Some(Listed { services }), ..Response::default() }
                    .encode_to_vec();
            }
        };
        let file = descriptors().into_iter().find(|file| file.name() == name).unwrap();
        let files = Some(Files { descriptors: vec![file.encode_to_vec()] });
        Response { files, ..Response::default() }.encode_to_vec()
    }

    fn talk(path: &str) -> Result<Services, ProtoError> {
        let mut reflection = Reflection::new("shop:1", [path]);
        while let Some(request) = reflection.next_request() {
            reflection.take(&response(&request))?;
        }
        reflection.services()
    }

    #[test]
    fn files_are_requested_until_all_are_present() {
        let call = talk("/a.Shop/Buy").unwrap().call("/a.Shop/Buy").unwrap();
        assert_eq!(call.encode("{\"kind\": \"FINE\"}").unwrap(), [8, 2]);
    }

    #[test]
    fn a_file_of_an_edition_is_refused_with_its_name() {
        for syntax in ["editions", ""] {
            let file = FileDescriptorProto { syntax: Some(syntax.to_owned()), ..descriptors().remove(0) };
            let files = Some(Files { descriptors: vec![file.encode_to_vec()] });
            let mut reflection = Reflection::new("shop:1", ["/a.Shop/Buy"]);
            reflection.next_request();
            let response = Response { files, ..Response::default() }.encode_to_vec();
            let error = reflection.take(&response).unwrap_err().to_string();
            assert!(error.contains(&format!("the syntax `{syntax}`")), "{error}");
        }
    }

    #[test]
    fn a_server_without_the_service_lists_its_services() {
        let error = talk("/a.Shap/Buy").unwrap_err().to_string();
        assert_eq!(error, "`shop:1` has no service `a.Shap`; it has `a.Shop`");
        let mut reflection = Reflection::new("shop:1", ["/a.Shop/Buy"]);
        reflection.next_request();
        assert!(reflection.take(b"\xff\xff").unwrap_err().to_string().contains("shop:1"));
        assert!(reflection.take(b"").unwrap_err().to_string().contains("an empty response"));
    }
}
