//! The mark of a secret: a value that identifies the secret without revealing it. With the mark, a request that takes long checks
//! that the secret of its signature is still valid.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The text whose HMAC is the mark. No signed request begins with it, because a timestamp has only digits.
const TEXT: &[u8] = b"casefilter secret mark 1\n";

/// A mark of a secret. Equal secrets have equal marks, and different secrets have different marks. A mark does not reveal its
/// secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::service) struct SecretMark([u8; 32]);

impl SecretMark {
    /// Returns the mark of the secret with this HMAC key.
    pub(super) fn of(key: &Hmac<Sha256>) -> Self {
        Self(key.clone().chain_update(TEXT).finalize().into_bytes().into())
    }
}
