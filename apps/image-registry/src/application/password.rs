//! Hashes passwords with Argon2id, at the parameters that its library recommends (19 MiB, two passes).

use std::sync::{LazyLock, Mutex, PoisonError};

use argon2::password_hash::{Error, SaltString};
use argon2::{Argon2, PasswordHash, PasswordHasher, PasswordVerifier};

/// Held while hashing, one password at a time: each takes 19 MiB and a processor.
static TURN: Mutex<()> = Mutex::new(());

/// A hash that belongs to no account. It makes an unknown name take as long to refuse as a wrong password, so response times do not reveal
/// names.
static OF_NOBODY: LazyLock<String> = LazyLock::new(|| hash("no account has this hash").unwrap_or_default());

/// The salted hash of a password, with its parameters, as text.
pub(crate) fn hash(password: &str) -> Result<String, Error> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let salt = SaltString::encode_b64(&rand::random::<[u8; 16]>())?;
    Ok(Argon2::default().hash_password(password.as_bytes(), &salt)?.to_string())
}

/// True if a password has this hash; false without a hash.
pub(crate) fn is_right(password: &str, stored: Option<&str>) -> bool {
    let text = stored.unwrap_or_else(|| OF_NOBODY.as_str());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let verified = PasswordHash::new(text)
        .and_then(|hash| Argon2::default().verify_password(password.as_bytes(), &hash));
    verified.is_ok() && stored.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_has_its_hash() {
        let stored = hash("correct horse").unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(is_right("correct horse", Some(&stored)));
        assert!(!is_right("battery staple", Some(&stored)));
        assert!(!is_right("no account has this hash", None));
        // Salted: the same password gives a different hash.
        assert_ne!(hash("correct horse").unwrap(), stored);
    }
}
