//! Keys of the lab that sign JSON Web Tokens.
//!
//! They are fixed, because a study adapts a configuration again in another process, where the token of the request must still be valid.
//! They protect nothing, since the proxies that accept them listen on loopback and forward to stubs.

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING,
    EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512,
    RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaKeyPair,
};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use hoptax_certs::KeyKind;
use serde_json::{Value, json};

use crate::tree::text;

/// Text of symmetric keys, repeated up to their length.
const SYMMETRIC: &[u8] = b"key-of-the-lab--";
/// Bytes of an `RSAPublicKey` in DER before its modulus: the headers of a sequence and of an integer, each with a length of two
/// bytes, and the zero before a modulus whose first bit is set (RFC 8017, appendix A.1.1).
const BEFORE_MODULUS: usize = 9;
/// Bytes of the exponent 65537 after the modulus.
const EXPONENT: usize = 5;

/// The kind of a lab key. The lab has one key of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabKey {
    /// A kind that certificates also use.
    Certified(KeyKind),
    /// Edwards curve 25519.
    Ed25519,
    /// A symmetric key of this number of bytes.
    Symmetric(usize),
}

impl LabKey {
    /// The kind of a JSON Web Key, with the nearest available size; none if the lab has no such key.
    pub(crate) fn new(jwk: &Value) -> Option<Self> {
        let bytes = |member: &str| {
            let encoded = text(jwk, member).trim_end_matches('=').replace('+', "-").replace('/', "_");
            BASE64_URL_SAFE_NO_PAD.decode(encoded).ok()
        };
        Some(match (text(jwk, "/kty"), text(jwk, "/crv")) {
            ("RSA", _) => Self::Certified(match bytes("/n")?.iter().skip_while(|byte| **byte == 0).count() {
                0..=256 => KeyKind::Rsa2048,
                257..=384 => KeyKind::Rsa3072,
                _ => KeyKind::Rsa4096,
            }),
            ("EC", "P-256") => Self::Certified(KeyKind::P256),
            ("EC", "P-384") => Self::Certified(KeyKind::P384),
            ("EC", "P-521") => Self::Certified(KeyKind::P521),
            ("OKP", "Ed25519") => Self::Ed25519,
            ("oct", _) => Self::Symmetric(bytes("/k")?.len()),
            _ => return None,
        })
    }

    /// Its name for a list of replacements.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Certified(kind) => kind.name().to_owned(),
            Self::Ed25519 => "Ed25519".to_owned(),
            Self::Symmetric(bytes) => format!("symmetric, {bytes} bytes"),
        }
    }

    /// The algorithms of such a key, the usual one first (RFC 7518, section 3.1; RFC 8037, section 3.1).
    fn algorithms(self) -> &'static [&'static str] {
        match self {
            Self::Certified(KeyKind::P256) => &["ES256"],
            Self::Certified(KeyKind::P384) => &["ES384"],
            Self::Certified(KeyKind::P521) => &["ES512"],
            Self::Certified(_) => &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
            Self::Ed25519 => &["EdDSA"],
            Self::Symmetric(_) => &["HS256", "HS384", "HS512"],
        }
    }

    /// The key as a JSON Web Key with the identifier, the use and the algorithm of another key. None if the lab key cannot be read, which a
    /// test excludes.
    pub(crate) fn jwk(self, like: &Value) -> Option<Value> {
        let encoded = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let mut jwk = match self {
            Self::Symmetric(_) => json!({"kty": "oct", "k": encoded(&self.private()?)}),
            Self::Ed25519 => {
                let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&self.private()?).ok()?;
                json!({"kty": "OKP", "crv": "Ed25519", "x": encoded(pair.public_key().as_ref())})
            }
            Self::Certified(kind) => {
                let curve = match kind {
                    KeyKind::P256 => Some(("P-256", &ECDSA_P256_SHA256_FIXED_SIGNING)),
                    KeyKind::P384 => Some(("P-384", &ECDSA_P384_SHA384_FIXED_SIGNING)),
                    KeyKind::P521 => Some(("P-521", &ECDSA_P521_SHA512_FIXED_SIGNING)),
                    _ => None,
                };
                if let Some((name, algorithm)) = curve {
                    let pair = EcdsaKeyPair::from_pkcs8(algorithm, &self.private()?).ok()?;
                    // An uncompressed point: 4, x, y.
                    let point = pair.public_key().as_ref().get(1..)?;
                    let (x, y) = point.split_at(point.len() / 2);
                    json!({"kty": "EC", "crv": name, "x": encoded(x), "y": encoded(y)})
                } else {
                    let pair = RsaKeyPair::from_pkcs8(&self.private()?).ok()?;
                    let public = pair.public_key().as_ref();
                    let modulus = public.get(BEFORE_MODULUS..public.len().checked_sub(EXPONENT)?)?;
                    json!({"kty": "RSA", "n": encoded(modulus), "e": "AQAB"})
                }
            }
        };
        for member in ["kid", "use"] {
            if let Some(value) = like.get(member).filter(|value| value.is_string()) {
                jwk[member] = value.clone();
            }
        }
        if self.algorithms().contains(&text(like, "/alg")) {
            jwk["alg"] = like["alg"].clone();
        }
        Some(jwk)
    }

    /// The private key: PKCS #8 in DER, or the bytes of a symmetric key.
    fn private(self) -> Option<Vec<u8>> {
        let encoded = match self {
            Self::Symmetric(length) => return Some(SYMMETRIC.iter().copied().cycle().take(length).collect()),
            Self::Ed25519 => include_str!("../keys/ed25519.b64"),
            Self::Certified(KeyKind::P256) => include_str!("../keys/ec-P-256.b64"),
            Self::Certified(KeyKind::P384) => include_str!("../keys/ec-P-384.b64"),
            Self::Certified(KeyKind::P521) => include_str!("../keys/ec-P-521.b64"),
            Self::Certified(KeyKind::Rsa2048) => include_str!("../keys/rsa-2048.b64"),
            Self::Certified(KeyKind::Rsa3072) => include_str!("../keys/rsa-3072.b64"),
            Self::Certified(KeyKind::Rsa4096) => include_str!("../keys/rsa-4096.b64"),
        };
        BASE64_STANDARD.decode(encoded.trim()).ok()
    }

    fn sign(self, algorithm: &str, message: &[u8]) -> Option<Vec<u8>> {
        let private = self.private()?;
        let random = SystemRandom::new();
        let ecdsa = |of| {
            let pair = EcdsaKeyPair::from_pkcs8(of, &private).ok()?;
            Some(pair.sign(&random, message).ok()?.as_ref().to_vec())
        };
        match algorithm {
            "ES256" => return ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING),
            "ES384" => return ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING),
            "ES512" => return ecdsa(&ECDSA_P521_SHA512_FIXED_SIGNING),
            "EdDSA" => {
                let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&private).ok()?;
                return Some(pair.sign(message).as_ref().to_vec());
            }
            _ => {}
        }
        let keyed = |of| Some(hmac::sign(&hmac::Key::new(of, &private), message).as_ref().to_vec());
        match algorithm {
            "HS256" => return keyed(hmac::HMAC_SHA256),
            "HS384" => return keyed(hmac::HMAC_SHA384),
            "HS512" => return keyed(hmac::HMAC_SHA512),
            _ => {}
        }
        let padding: &'static dyn aws_lc_rs::signature::RsaEncoding = match algorithm {
            "RS256" => &RSA_PKCS1_SHA256,
            "RS384" => &RSA_PKCS1_SHA384,
            "RS512" => &RSA_PKCS1_SHA512,
            "PS256" => &RSA_PSS_SHA256,
            "PS384" => &RSA_PSS_SHA384,
            "PS512" => &RSA_PSS_SHA512,
            _ => return None,
        };
        let pair = RsaKeyPair::from_pkcs8(&private).ok()?;
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(padding, &random, message, &mut signature).ok()?;
        Some(signature)
    }
}

/// A token with these claims, signed with the lab key that belongs to a JSON Web Key. None for keys that are not the lab's.
pub(crate) fn token(jwk: &Value, claims: &Value) -> Option<String> {
    let key = LabKey::new(jwk)?;
    let stated = text(jwk, "/alg");
    let algorithm = if stated.is_empty() { key.algorithms().first()? } else { stated };
    let mut header = json!({"alg": algorithm, "typ": "JWT"});
    if let Some(id) = jwk.get("kid") {
        header["kid"] = id.clone();
    }
    let encoded = |part: &Value| BASE64_URL_SAFE_NO_PAD.encode(part.to_string());
    let message = format!("{}.{}", encoded(&header), encoded(claims));
    let signature = key.sign(algorithm, message.as_bytes())?;
    Some(format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P521_SHA512_FIXED, ED25519,
        RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey,
        VerificationAlgorithm,
    };

    use super::*;

    fn decoded(encoded: &str) -> Vec<u8> {
        BASE64_URL_SAFE_NO_PAD.decode(encoded).unwrap()
    }

    /// A lab key, and the message and the signature of a token that it signed.
    fn signed(key: LabKey, algorithm: &str) -> (Value, Vec<u8>, Vec<u8>) {
        let jwk = key.jwk(&json!({"alg": algorithm, "kid": "own", "d": "private"})).unwrap();
        assert_eq!(LabKey::new(&jwk), Some(key));
        assert_eq!((&jwk["kid"], &jwk["alg"], jwk.get("d")), (&json!("own"), &json!(algorithm), None));
        let token = token(&jwk, &json!({"iss": "a"})).unwrap();
        let (message, signature) = token.rsplit_once('.').unwrap();
        let header: Value = serde_json::from_slice(&decoded(message.split('.').next().unwrap())).unwrap();
        assert_eq!(header, json!({"alg": algorithm, "typ": "JWT", "kid": "own"}));
        (jwk, message.as_bytes().to_vec(), decoded(signature))
    }

    #[test]
    fn tokens_of_each_curve_are_verified_by_the_key_in_the_set() {
        let curves: [(KeyKind, &str, &'static dyn VerificationAlgorithm); 3] = [
            (KeyKind::P256, "ES256", &ECDSA_P256_SHA256_FIXED),
            (KeyKind::P384, "ES384", &ECDSA_P384_SHA384_FIXED),
            (KeyKind::P521, "ES512", &ECDSA_P521_SHA512_FIXED),
        ];
        for (kind, algorithm, verification) in curves {
            let (jwk, message, signature) = signed(LabKey::Certified(kind), algorithm);
            let point = [vec![4], decoded(text(&jwk, "/x")), decoded(text(&jwk, "/y"))].concat();
            UnparsedPublicKey::new(verification, point).verify(&message, &signature).unwrap();
        }
        let (jwk, message, signature) = signed(LabKey::Ed25519, "EdDSA");
        UnparsedPublicKey::new(&ED25519, decoded(text(&jwk, "/x"))).verify(&message, &signature).unwrap();
    }

    #[test]
    fn tokens_of_each_rsa_key_are_verified_by_the_key_in_the_set() {
        for (kind, bytes) in [(KeyKind::Rsa2048, 256), (KeyKind::Rsa3072, 384), (KeyKind::Rsa4096, 512)] {
            for (algorithm, verification) in
                [("RS256", &RSA_PKCS1_2048_8192_SHA256), ("PS512", &RSA_PSS_2048_8192_SHA512)]
            {
                let (jwk, message, signature) = signed(LabKey::Certified(kind), algorithm);
                let (n, e) = (decoded(text(&jwk, "/n")), decoded(text(&jwk, "/e")));
                assert_eq!(n.len(), bytes);
                RsaPublicKeyComponents { n, e }.verify(verification, &message, &signature).unwrap();
            }
        }
    }

    #[test]
    fn a_symmetric_key_has_the_length_of_the_original() {
        for (algorithm, of) in [("HS256", hmac::HMAC_SHA256), ("HS512", hmac::HMAC_SHA512)] {
            let (jwk, message, signature) = signed(LabKey::Symmetric(45), algorithm);
            let bytes = decoded(text(&jwk, "/k"));
            assert_eq!(bytes.len(), 45);
            hmac::verify(&hmac::Key::new(of, &bytes), &message, &signature).unwrap();
        }
    }

    #[test]
    fn a_key_that_the_lab_lacks_has_no_kind_and_an_algorithm_of_another_kind_is_dropped() {
        assert_eq!(LabKey::new(&json!({"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"})), None);
        assert_eq!(LabKey::new(&json!({"kty": "oct", "k": "not base64"})), None);
        let jwk = LabKey::Certified(KeyKind::P256).jwk(&json!({"alg": "RS256"})).unwrap();
        assert_eq!(jwk.get("alg"), None);
        assert!(token(&jwk, &json!({})).is_some());
    }
}
