//! Token files: the entries of app tokens, as `casefilter token` writes them and a service reads them.

use std::fmt;
use std::io;
use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::permission::Permission;
use crate::error::{Error, quote};
use crate::ingest::check_text;

/// An entry of a token file: an app token with its secret, its permissions, and the cases and fields that it may see.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    pub(super) token: String,
    pub(super) secret: Secret,
    pub(super) permissions: Vec<Permission>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fields: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) filter: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) clients: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires: Option<Moment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) previous: Option<PreviousSecret>,
}

/// The secret that a token had before its secret was rotated. Both secrets are valid for a while.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PreviousSecret {
    pub(super) secret: Secret,
    /// The time from which only the new secret is valid.
    pub(super) until: Moment,
}

/// A time in whole seconds. Its text has the form of RFC 3339, such as `2027-01-31T00:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(pub(super) DateTime<Utc>);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Secs, true))
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = DateTime::parse_from_rfc3339(&text);
        // The error does not contain the text, because the text may be a secret in a wrong place.
        let time = time.map_err(|_| D::Error::custom("expected a time such as `2027-01-31T00:00:00Z`"));
        time.map(|time| Self(time.to_utc()))
    }
}

/// Returns `N` random bytes in hexadecimal.
fn random_hex<const N: usize>() -> io::Result<String> {
    let mut random = [0; N];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A token file: `{"tokens":[…]}`. The docs of [`service`](crate::service#tokens) list the members of an entry.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenFile {
    pub(super) tokens: Vec<TokenEntry>,
}

/// A shared secret. `Debug` output and errors do not show it.
#[derive(Clone)]
pub(super) struct Secret(pub(super) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // An error message of serde would contain the value.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        serde_json::from_str(text.get()).map(Self).map_err(|_| D::Error::custom("a secret is a string"))
    }
}

/// The minimum length of a secret in bytes. It makes guessing a secret infeasible.
pub(super) const LEAST_SECRET_BYTES: usize = 16;

impl TokenEntry {
    /// Creates a token with a random text (128 bits) and a random secret (256 bits), both in hexadecimal.
    ///
    /// The token has no name, and may see all fields of all cases, and all applicants.
    ///
    /// ```
    /// use casefilter::service::{Permission, TokenEntry};
    /// let token = TokenEntry::generate([Permission::ViewCases])?
    ///     .with_name("acme")
    ///     .with_fields(["caseReview.status", "createdAt"])
    ///     .with_filter("clientId = acme");
    /// assert_eq!((token.token().len(), token.secret().len()), (32, 64));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the system's random number generator fails.
    pub fn generate(permissions: impl IntoIterator<Item = Permission>) -> io::Result<Self> {
        Ok(Self {
            token: random_hex::<16>()?,
            secret: Secret(random_hex::<32>()?),
            permissions: permissions.into_iter().collect(),
            name: None,
            fields: None,
            filter: None,
            clients: None,
            expires: None,
            previous: None,
        })
    }

    /// Sets the name that logs show for the token.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Sets the fields of cases that the token may see, in addition to `id`.
    #[must_use]
    pub fn with_fields<F: Into<String>>(self, fields: impl IntoIterator<Item = F>) -> Self {
        Self { fields: Some(fields.into_iter().map(Into::into).collect()), ..self }
    }

    /// Sets a filter, in the text syntax. The token may see only the cases that the filter selects.
    #[must_use]
    pub fn with_filter(self, filter: impl Into<String>) -> Self {
        Self { filter: Some(filter.into()), ..self }
    }

    /// Binds the token to clients. The token sees only the cases and the applicants with these values of `clientId`. All others do
    /// not exist for it.
    ///
    /// A client is a string of 1 to 1,024 bytes without control characters. A token has 1 to 1,000 clients.
    ///
    /// ```
    /// use casefilter::service::{Permission, TokenEntry};
    /// let token = TokenEntry::generate([Permission::ViewCases, Permission::ViewApplicants])?.with_clients(["acme"]);
    /// assert_eq!(token.clients(), Some(&["acme".to_owned()][..]));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn with_clients<C: Into<String>>(self, clients: impl IntoIterator<Item = C>) -> Self {
        Self { clients: Some(clients.into_iter().map(Into::into).collect()), ..self }
    }

    /// Sets the time from which the token is no longer valid, in whole seconds.
    #[must_use]
    pub fn with_expiry(self, expires: DateTime<Utc>) -> Self {
        Self { expires: Some(Moment(expires)), ..self }
    }

    /// Gives the token a new random secret. The secret that it replaces stays valid until `until`. A secret that was replaced by an
    /// earlier call is no longer valid, even if its time has not passed.
    ///
    /// ```
    /// use casefilter::service::{Permission, TokenEntry};
    /// use chrono::DateTime;
    /// let mut token = TokenEntry::generate([Permission::ViewCases])?;
    /// let old = token.secret().to_owned();
    /// token.rotate(DateTime::UNIX_EPOCH)?;
    /// assert_ne!(token.secret(), old);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the system's random number generator fails.
    pub fn rotate(&mut self, until: DateTime<Utc>) -> io::Result<()> {
        let new = Secret(random_hex::<32>()?);
        let secret = std::mem::replace(&mut self.secret, new);
        self.previous = Some(PreviousSecret { secret, until: Moment(until) });
        Ok(())
    }

    /// Returns the permissions.
    #[must_use]
    pub fn permissions(&self) -> &[Permission] {
        &self.permissions
    }

    /// Returns the fields of cases that the token may see, in addition to `id`. Returns `None` if it may see all fields.
    #[must_use]
    pub fn fields(&self) -> Option<&[String]> {
        self.fields.as_deref()
    }

    /// Returns the text of the filter, if the token has one.
    #[must_use]
    pub fn filter(&self) -> Option<&str> {
        self.filter.as_deref()
    }

    /// Returns the clients that the token is bound to. Returns `None` if it sees the cases and applicants of all clients.
    #[must_use]
    pub fn clients(&self) -> Option<&[String]> {
        self.clients.as_deref()
    }

    /// Returns the time from which the token is no longer valid, if it has one.
    #[must_use]
    pub fn expires(&self) -> Option<DateTime<Utc>> {
        self.expires.map(|expires| expires.0)
    }

    /// Returns the time until which the previous secret is valid. Returns `None` if the secret was never rotated.
    #[must_use]
    pub fn rotates_until(&self) -> Option<DateTime<Utc>> {
        self.previous.as_ref().map(|previous| previous.until.0)
    }

    /// Returns the text that clients send as `X-App-Token`.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the secret with which clients sign requests. Show it only once, when the token is created.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret.0
    }

    /// Returns warnings for the operator. Each warning describes a way in which the token allows more than its `fields` and
    /// `filter` suggest. A token that is bound to [clients](Self::with_clients) sees only their applicants, so it has no warning
    /// about applicants.
    ///
    /// ```
    /// use casefilter::service::{Permission, TokenEntry};
    /// let searches = TokenEntry::generate([Permission::ViewCases])?.with_filter("clientId = acme");
    /// assert!(searches.warnings().is_empty());
    /// let changes = TokenEntry::generate([Permission::ChangePersonalData])?.with_filter("clientId = acme");
    /// assert!(changes.warnings()[0].contains("changePersonalData applies to all applicants"));
    /// assert!(changes.with_clients(["acme"]).warnings().is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let restrictions: Vec<&str> =
            [("--filter", self.filter.is_some()), ("--fields", self.fields.is_some())]
                .into_iter()
                .filter_map(|(flag, is_set)| is_set.then_some(flag))
                .collect();
        let unrestricted: Vec<&str> = self
            .permissions
            .iter()
            .filter(|permission| permission.is_for_applicants())
            .map(|permission| permission.name())
            .collect();
        if self.clients.is_none() && !restrictions.is_empty() && !unrestricted.is_empty() {
            let restrict = if restrictions.len() == 1 { "restricts" } else { "restrict" };
            let (apply, them) = if unrestricted.len() == 1 { ("applies", "it") } else { ("apply", "them") };
            warnings.push(format!(
                "{} {restrict} searches of cases only: {} {apply} to all applicants, including those of other clients; bind the token by --client, or remove {them}, if that is not intended",
                restrictions.join(" and "),
                unrestricted.join(", "),
            ));
        }
        let fields = self.fields.as_deref().unwrap_or_default();
        if self.fields.is_some() && !fields.iter().any(|field| field == CREATED_BY) {
            let revealing: Vec<&str> =
                fields.iter().map(String::as_str).filter(|field| reveals_created_by(field)).collect();
            if !revealing.is_empty() {
                warnings.push(format!(
                    "{CREATED_BY} is hidden, but the presence of {} reveals it",
                    revealing.join(" or ")
                ));
            }
        }
        warnings
    }

    /// Returns the token's name for messages. If it has no name, returns its position in the file.
    fn label(&self, number: usize) -> String {
        self.name
            .as_deref()
            .map_or_else(|| format!("token {number}"), |name| format!("token {}", quote(name)))
    }
}

/// The field that says how a case was created.
const CREATED_BY: &str = "createdByType";

/// Returns true if the field occurs only in cases with a certain value of [`CREATED_BY`].
fn reveals_created_by(field: &str) -> bool {
    field == "createdByOfficer"
        || field.starts_with("createdByRule.")
        || field.starts_with("createdByWorkflowRef.")
}

impl TokenFile {
    /// Reads a token file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a token file. The message never contains a secret.
    pub fn read(path: &Path) -> io::Result<Self> {
        Self::parse(&std::fs::read(path)?)
    }

    /// Reads the text of a token file.
    ///
    /// ```
    /// use casefilter::service::TokenFile;
    /// assert!(TokenFile::parse(br#"{"tokens":[]}"#)?.entries().is_empty());
    /// let error = TokenFile::parse(br#"{"tokens":["a secret in a wrong place"]}"#).unwrap_err();
    /// assert!(!error.to_string().contains("a secret"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the text is not that of a token file. The message never contains a secret.
    pub fn parse(text: &[u8]) -> io::Result<Self> {
        let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
        check_text(text).map_err(|error: Error| invalid(error.message()))?;
        serde_json::from_slice(text).map_err(|error| {
            let message = error.to_string();
            // serde repeats a string that is in a wrong place. It may be a secret.
            let wrong = message.strip_prefix("invalid type: string ");
            invalid(match wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
                Some((_, expected)) => format!("found a string, expected {expected}"),
                None => message,
            })
        })
    }

    /// Returns the names of the tokens as they appear in logs. A token without a name is named by its position in the file.
    pub fn names(&self) -> impl Iterator<Item = String> {
        (1..)
            .zip(&self.tokens)
            .map(|(number, entry): (usize, _)| entry.name.clone().unwrap_or_else(|| number.to_string()))
    }

    /// Returns the [warnings](TokenEntry::warnings) of all tokens. Each warning begins with the name of its token, or with its
    /// position in the file.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        (1..).zip(&self.tokens).flat_map(|(number, entry)| {
            let name = entry.label(number);
            entry.warnings().into_iter().map(move |warning| format!("{name}: {warning}"))
        })
    }

    /// Returns the entries in the order of the file.
    #[must_use]
    pub fn entries(&self) -> &[TokenEntry] {
        &self.tokens
    }

    /// Returns the entry with this [name](Self::names). Returns `None` if the name is unknown, or if several tokens have it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut TokenEntry> {
        let number = self.number_of(name)?;
        self.tokens.get_mut(number)
    }

    /// Removes the entry with this [name](Self::names), and returns it. All other tokens keep their names. If an entry has no
    /// `name`, its position before the removal becomes its `name`.
    ///
    /// Returns `None` and removes nothing if the name is unknown, or if several tokens have it.
    ///
    /// ```
    /// use casefilter::service::{Permission, TokenEntry, TokenFile};
    /// let mut file = TokenFile::default();
    /// for _ in 0..3 {
    ///     file.push(TokenEntry::generate([Permission::ViewCases])?);
    /// }
    /// assert!(file.remove("2").is_some() && file.remove("2").is_none());
    /// assert!(file.names().eq(["1", "3"]));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn remove(&mut self, name: &str) -> Option<TokenEntry> {
        let number = self.number_of(name)?;
        let names: Vec<String> = self.names().collect();
        for (entry, name) in self.tokens.iter_mut().zip(names) {
            entry.name = Some(name);
        }
        Some(self.tokens.remove(number))
    }

    /// Returns the index of the token with this name. Returns `None` if no token has the name, or if several tokens have it.
    fn number_of(&self, name: &str) -> Option<usize> {
        let mut found = self.names().enumerate().filter(|(_, own)| own == name).map(|(number, _)| number);
        let number = found.next()?;
        found.next().is_none().then_some(number)
    }

    /// Adds a token at the end. Does not check if another token has the same name.
    pub fn push(&mut self, entry: TokenEntry) {
        self.tokens.push(entry);
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Serialising strings and lists cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_whole_seconds_of_utc() {
        let read = |text: &str| serde_json::from_str::<Moment>(text);
        let moment = read(r#""2027-01-31T01:00:00.9+01:00""#).unwrap();
        assert_eq!(serde_json::to_string(&moment).unwrap(), r#""2027-01-31T00:00:00Z""#);
        for text in ["\"tomorrow\"", "7", "null", "\"2027-01-31\""] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn neither_of_two_secrets_is_shown() {
        let mut token = TokenEntry::generate([Permission::ViewCases]).unwrap();
        let old = token.secret().to_owned();
        token.rotate(DateTime::UNIX_EPOCH).unwrap();
        let shown = format!("{token:?}");
        assert!(!shown.contains(&old) && !shown.contains(token.secret()));
        assert_eq!(token.rotates_until(), Some(DateTime::UNIX_EPOCH));
    }

    #[test]
    fn an_error_repeats_no_text_that_may_be_a_secret() {
        let entry = r#"{"token":"t","secret":"0123456789abcdef","permissions":[],"MEMBER":"GEHEIM"}"#;
        for text in [
            r#"{"tokens":"GEHEIM"}"#.to_owned(),
            r#"{"tokens":["GEHEIM"]}"#.to_owned(),
            format!(r#"{{"tokens":[{}]}}"#, entry.replace("MEMBER", "previous")),
            format!(r#"{{"tokens":[{}]}}"#, entry.replace("MEMBER", "expires")),
            format!(r#"{{"tokens":[{}]}}"#, entry.replace("MEMBER", "fields")),
        ] {
            let error = TokenFile::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("expected") && !error.contains("GEHEIM"), "{error}");
        }
    }

    #[test]
    fn a_name_that_several_tokens_have_names_none_of_them() {
        let mut file = TokenFile::default();
        for name in ["a", "b", "a"] {
            file.push(TokenEntry::generate([Permission::ViewCases]).unwrap().with_name(name));
        }
        assert!(file.get_mut("a").is_none() && file.remove("a").is_none());
        assert!(file.get_mut("b").is_some());
    }
}
