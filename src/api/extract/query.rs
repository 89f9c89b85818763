//! Query parameters: booleans as Go's `ParseBool` reads them, lists as repeated keys, Go durations.
//!
//! Unknown parameters are ignored; of a parameter given twice that is no list the first counts.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::api::duration::parse_duration;
use crate::api::error::ApiError;

/// Typed query parameters.
#[derive(Debug)]
pub struct Query<T>(pub T);

/// What a handler's parameters are made from.
pub trait FromQuery: Sized {
    fn from_query(parameters: &QueryParameters) -> Result<Self, ApiError>;
}

impl<S: Send + Sync, T: FromQuery> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        T::from_query(&QueryParameters::parse(parts.uri.query().unwrap_or_default())).map(Self)
    }
}

/// The decoded pairs of a query.
#[derive(Debug)]
pub struct QueryParameters(Vec<(String, String)>);

impl QueryParameters {
    pub fn parse(query: &str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    /// The first value of a parameter.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter that may be repeated.
    pub fn list(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    }

    pub fn boolean(&self, name: &str) -> Result<Option<bool>, ApiError> {
        self.text(name)
            .map(|text| match text {
                "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
                "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
                _ => Err(wrong(name, text, "`true` or `false`")),
            })
            .transpose()
    }

    /// A whole number within bounds.
    pub fn integer(&self, name: &str, smallest: u64, largest: u64) -> Result<Option<u64>, ApiError> {
        self.text(name)
            .map(|text| match text.parse::<u64>() {
                Ok(number) if (smallest..=largest).contains(&number) => Ok(number),
                _ => Err(wrong(name, text, &format!("an integer from {smallest} to {largest}"))),
            })
            .transpose()
    }

    /// A duration of at most `largest`.
    pub fn duration(&self, name: &str, largest: Duration) -> Result<Option<Duration>, ApiError> {
        self.text(name)
            .map(|text| match parse_duration(text) {
                Some(duration) if duration <= largest => Ok(duration),
                _ => Err(wrong(name, text, &format!("a duration such as `10s`, at most {}s", largest.as_secs()))),
            })
            .transpose()
    }

    /// One of a few words.
    pub fn one_of<T: Copy>(&self, name: &str, allowed: &[(&str, T)]) -> Result<Option<T>, ApiError> {
        self.text(name)
            .map(|text| {
                allowed.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
                    let words: Vec<_> = allowed.iter().map(|(word, _)| format!("`{word}`")).collect();
                    wrong(name, text, &format!("one of {}", words.join(", ")))
                })
            })
            .transpose()
    }
}

fn wrong(name: &str, text: &str, expected: &str) -> ApiError {
    ApiError::request(
        format!("the query parameter `{name}` has the value `{text}`, which is not valid"),
        format!("`{name}`: expected {expected}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_read_as_go_reads_them() {
        for (text, value) in [("1", true), ("T", true), ("True", true), ("0", false), ("f", false), ("FALSE", false)] {
            let parameters = QueryParameters::parse(&format!("force={text}"));
            assert_eq!(parameters.boolean("force").unwrap(), Some(value), "{text}");
        }
        for text in ["yes", "", "tRUE", "2"] {
            assert!(QueryParameters::parse(&format!("force={text}")).boolean("force").is_err(), "{text}");
        }
        assert_eq!(QueryParameters::parse("other=1").boolean("force").unwrap(), None);
    }

    #[test]
    fn a_list_repeats_its_key_and_a_comma_separates_nothing() {
        let parameters = QueryParameters::parse("source_name_list=a%20b&x=1&source_name_list=c,d");
        assert_eq!(parameters.list("source_name_list"), ["a b", "c,d"]);
    }

    #[test]
    fn a_duration_out_of_bounds_is_refused() {
        let parameters = QueryParameters::parse("wait=61s");
        assert!(parameters.duration("wait", Duration::from_secs(60)).is_err());
        let parameters = QueryParameters::parse("wait=0s");
        assert_eq!(parameters.duration("wait", Duration::from_secs(60)).unwrap(), Some(Duration::ZERO));
    }
}
