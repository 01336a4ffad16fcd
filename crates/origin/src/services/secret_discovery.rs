//! Secret discovery (`envoy.service.secret.v3`): answers each subscription with a certificate and its key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs, io};

use super::{Service, ServiceState, field, nested};

/// Leaves the certificate with the proxy.
pub(super) const KEEPING: Service = Service {
    path: PATH,
    task: None,
    is_streaming: true,
    reply: |message, state| subscribed(message, &state.secrets),
};

/// Removes the certificate once the proxy has accepted it, so that a later handshake asks for it again.
pub(super) const REMOVING: Service = Service {
    path: PATH,
    task: Some("remove"),
    is_streaming: true,
    reply: |message, state: &mut ServiceState| {
        subscribed(message, &state.secrets).or_else(|| {
            // `response_nonce` (6) is the name of the secret that is accepted.
            let name = nested(message, &[6]).filter(|name| !name.is_empty())?;
            // `DeltaDiscoveryResponse` has `type_url` (4) and `removed_resources` (6). Without a nonce, the answer to it gets no
            // reply.
            Some([field(4, TYPE), field(6, name)].concat())
        })
    },
};

const PATH: &str = "/envoy.service.secret.v3.SecretDiscoveryService/DeltaSecrets";
const TYPE: &[u8] = b"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

/// A folder whose secrets cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the secrets at `{}`: {source}", path.display())]
pub struct SecretsError {
    path: PathBuf,
    source: io::Error,
}

/// A certificate and its key, as PEM.
type CertificateAndKey = (Vec<u8>, Vec<u8>);

/// Certificates with their keys, by name.
#[derive(Clone, Default)]
pub struct Secrets(Arc<BTreeMap<String, CertificateAndKey>>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Secrets {
    /// The certificates of a folder that have a key beside them: `NAME.pem` and `NAME.key`.
    ///
    /// # Errors
    /// When the folder or one of these files cannot be read.
    pub fn load(folder: &Path) -> Result<Self, SecretsError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| SecretsError { path, source }
        };
        let mut secrets = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(failed(folder))? {
            let certificate = entry.map_err(failed(folder))?.path();
            let key = certificate.with_extension("key");
            let name = certificate.file_stem().and_then(|stem| stem.to_str());
            let is_certificate = certificate.extension().is_some_and(|extension| extension == "pem");
            if let Some(name) = name.filter(|_| is_certificate && key.is_file()) {
                let read = |path: &Path| fs::read(path).map_err(failed(path));
                secrets.insert(name.to_owned(), (read(&certificate)?, read(&key)?));
            }
        }
        Ok(Self(Arc::new(secrets)))
    }

    fn get(&self, name: &[u8]) -> Option<&(Vec<u8>, Vec<u8>)> {
        self.0.get(std::str::from_utf8(name).ok()?)
    }
}

/// The reply to a `DeltaDiscoveryRequest` that subscribes to a secret. Envoy makes one call for each secret. A secret that does not exist
/// gets no reply, as if the service were still looking for it.
fn subscribed(message: &[u8], secrets: &Secrets) -> Option<Vec<u8>> {
    // `resource_names_subscribe` (3).
    let name = nested(message, &[3])?;
    let (certificate, key) = secrets.get(name)?;
    // `TlsCertificate` has `certificate_chain` (1) and `private_key` (2), each a `DataSource` with `inline_bytes` (2).
    let certificate = [field(1, &field(2, certificate)), field(2, &field(2, key))].concat();
    // `Secret` has `name` (1) and `tls_certificate` (2); `Any` has `type_url` (1) and `value` (2).
    let secret = [field(1, name), field(2, &certificate)].concat();
    let any = [field(1, TYPE), field(2, &secret)].concat();
    // `Resource` has `version` (1), `resource` (2) and `name` (3).
    let resource = [field(1, b"1"), field(2, &any), field(3, name)].concat();
    // `DeltaDiscoveryResponse` has `resources` (2), `type_url` (4) and `nonce` (5).
    Some([field(2, &resource), field(4, TYPE), field(5, name)].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> ServiceState {
        let secret = (b"certificate".to_vec(), b"key".to_vec());
        let secrets = Secrets(Arc::new([("server".to_owned(), secret)].into()));
        ServiceState { secrets, ..ServiceState::default() }
    }

    fn reply(service: &Service, message: &[u8]) -> Option<Vec<u8>> {
        (service.reply)(message, &mut state())
    }

    #[test]
    fn a_subscription_gets_the_certificate_of_its_name() {
        for service in [KEEPING, REMOVING] {
            let given = reply(&service, &field(3, b"server")).unwrap();
            let secret = nested(&given, &[2, 2, 2]).unwrap();
            assert_eq!(nested(secret, &[1]), Some(b"server".as_slice()));
            assert_eq!(nested(secret, &[2, 1, 2]), Some(b"certificate".as_slice()));
            assert_eq!(nested(secret, &[2, 2, 2]), Some(b"key".as_slice()));
            assert_eq!(nested(&given, &[2, 3]), Some(b"server".as_slice()));
            assert_eq!(reply(&service, &field(3, b"other")), None);
        }
    }

    #[test]
    fn only_one_service_removes_what_was_accepted() {
        let given = reply(&REMOVING, &field(3, b"server")).unwrap();
        let accepted = field(6, nested(&given, &[5]).unwrap());
        assert_eq!(reply(&KEEPING, &accepted), None);
        let removed = reply(&REMOVING, &accepted).unwrap();
        assert_eq!(nested(&removed, &[6]), Some(b"server".as_slice()));
        assert_eq!((nested(&removed, &[2]), nested(&removed, &[5])), (None, None));
        assert_eq!(reply(&REMOVING, &field(6, b"")), None);
    }

    #[test]
    fn only_certificates_with_a_key_are_secrets() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["ca.pem", "server.pem", "server.key", "other.key", "other.txt"] {
            fs::write(folder.path().join(file), file).unwrap();
        }
        let secrets = Secrets::load(folder.path()).unwrap();
        assert_eq!(format!("{secrets:?}"), r#"{"server"}"#);
        assert_eq!(secrets.get(b"server"), Some(&(b"server.pem".to_vec(), b"server.key".to_vec())));
        let missing = Secrets::load(Path::new("/nonexistent")).unwrap_err().to_string();
        assert!(missing.contains("`/nonexistent`"), "{missing}");
    }
}
