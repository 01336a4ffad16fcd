//! gRPC messages: encodes JSON to the bytes of a message, given the path of a call and a proto file or a server's
//! reflection.

mod error;
mod reflection;

use std::path::Path;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor};

use error::ProtoError;

pub use reflection::{PATHS as REFLECTION_PATHS, Reflection};

/// The services of a proto file with its imports, or of a server.
#[derive(Clone, Debug)]
pub struct Services {
    pool: DescriptorPool,
    /// The file, or the server.
    source_name: String,
}

/// A method of a service.
#[derive(Clone, Debug)]
pub struct Call {
    method: MethodDescriptor,
}

impl Services {
    /// Parses a proto file; imports are searched in its folder.
    ///
    /// # Errors
    /// When it, or an import, cannot be read or is invalid.
    pub fn read(file: &Path) -> Result<Self, ProtoError> {
        let bad = |reason: String| ProtoError::File { file: file.to_owned(), reason };
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let name = file.file_name().ok_or_else(|| bad("it is not a file".to_owned()))?;
        let set = protox::compile([Path::new(name)], [folder]).map_err(|error| bad(error.to_string()))?;
        let pool = DescriptorPool::from_file_descriptor_set(set).map_err(|error| bad(error.to_string()))?;
        Ok(Self { pool, source_name: file.display().to_string() })
    }

    /// The call with this path: `/package.Service/Method`.
    ///
    /// # Errors
    /// When there is no such service or method.
    pub fn call(&self, path: &str) -> Result<Call, ProtoError> {
        let (service_name, method_name) = names(path);
        let service = self.pool.get_service_by_name(service_name).ok_or_else(|| ProtoError::Service {
            source_name: self.source_name.clone(),
            service: service_name.to_owned(),
            known: self.pool.services().map(|service| service.full_name().to_owned()).collect(),
        })?;
        let method = service.methods().find(|method| method.name() == method_name);
        let method = method.ok_or_else(|| ProtoError::Method {
            service: service_name.to_owned(),
            method: method_name.to_owned(),
            known: service.methods().map(|method| method.name().to_owned()).collect(),
        })?;
        Ok(Call { method })
    }
}

/// The names of service and method in a path.
fn names(path: &str) -> (&str, &str) {
    let path = path.split('?').next().unwrap_or_default().trim_start_matches('/');
    path.split_once('/').unwrap_or((path, ""))
}

impl Call {
    /// True if it is client-streaming.
    pub fn takes_stream(&self) -> bool {
        self.method.is_client_streaming()
    }

    /// Encodes a message from JSON; an empty text is the empty message.
    ///
    /// # Errors
    /// When the JSON does not match the call's message type.
    pub fn encode(&self, json: &str) -> Result<Vec<u8>, ProtoError> {
        let kind = self.method.input();
        if json.trim().is_empty() {
            return Ok(DynamicMessage::new(kind).encode_to_vec());
        }
        let bad = |error: serde_json::Error| ProtoError::Json {
            kind: kind.full_name().to_owned(),
            reason: error.to_string(),
        };
        let mut reader = serde_json::Deserializer::from_str(json);
        let message = DynamicMessage::deserialize(kind.clone(), &mut reader).map_err(bad)?;
        reader.end().map_err(bad)?;
        Ok(message.encode_to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECHO: &str = r#"
        syntax = "proto3";
        package a.v1;
        import "kind.proto";
        message Ask { string name = 1; int32 count = 2; Kind kind = 3; }
        service Shop {
          rpc Buy(Ask) returns (Ask);
          rpc Haggle(stream Ask) returns (stream Ask);
        }
    "#;

    fn services() -> (tempfile::TempDir, Services) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shop.proto");
        std::fs::write(&file, ECHO).unwrap();
        let kind = "syntax = \"proto3\"; package a.v1; enum Kind { NONE = 0; FINE = 2; }";
        std::fs::write(folder.path().join("kind.proto"), kind).unwrap();
        let services = Services::read(&file).unwrap();
        (folder, services)
    }

    #[test]
    fn json_becomes_a_message() {
        let (_folder, services) = services();
        let call = services.call("/a.v1.Shop/Buy").unwrap();
        // Field 1 as text, field 2 as a number, field 3 as the number of its enum value.
        let bytes = call.encode(r#"{"name": "ab", "count": 3, "kind": "FINE"}"#).unwrap();
        assert_eq!(bytes, [0x0a, 2, b'a', b'b', 0x10, 3, 0x18, 2]);
        assert!(call.encode("").unwrap().is_empty());
        assert!(!call.takes_stream() && services.call("a.v1.Shop/Haggle").unwrap().takes_stream());
    }

    #[test]
    fn missing_services_are_reported_with_those_that_exist() {
        let (folder, services) = services();
        let error = |path: &str| services.call(path).unwrap_err().to_string();
        assert!(error("/a.v1.Shap/Buy").contains("it has `a.v1.Shop`"));
        assert!(error("/a.v1.Shop/Sell").contains("it has `Buy`, `Haggle`"));
        let call = services.call("/a.v1.Shop/Buy").unwrap();
        let json = |text: &str| call.encode(text).unwrap_err().to_string();
        assert!(
            json("{\"nam\": 1}").contains("is not a valid `a.v1.Ask`") && json("{} {}").contains("a.v1.Ask")
        );
        let broken = folder.path().join("broken.proto");
        std::fs::write(&broken, "message {").unwrap();
        assert!(Services::read(&broken).unwrap_err().to_string().contains("broken.proto"));
        assert!(Services::read(Path::new("/nonexistent.proto")).is_err());
    }
}
