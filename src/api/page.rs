//! Pages of lists. Without `limit` the full list comes, as it does from DM.

use utoipa::IntoParams;

use super::error::ApiError;
use super::extract::QueryParameters;

const LIMIT_MAX: u64 = 10_000;

/// Which part of a list is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Page {
    /// At most so many entries; left out: all.
    #[param(minimum = 1, maximum = 10000)]
    limit: Option<u64>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

impl Page {
    pub fn from_query(parameters: &QueryParameters) -> Result<Self, ApiError> {
        Ok(Self {
            limit: parameters.integer("limit", 1, LIMIT_MAX)?,
            cursor: parameters.text("cursor").map(str::to_owned),
        })
    }

    /// The part of a list, sorted by `key`, and the cursor of the next one if there is more.
    pub fn cut<T>(&self, list: Vec<T>, key: impl Fn(&T) -> String) -> (Vec<T>, Option<String>) {
        let after_cursor = |entry: &T| self.cursor.as_ref().is_none_or(|cursor| key(entry) > *cursor);
        let mut rest: Vec<T> = list.into_iter().filter(after_cursor).collect();
        let limit = self.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        if rest.len() <= limit {
            return (rest, None);
        }
        rest.truncate(limit);
        let next = rest.last().map(key);
        (rest, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_one_another_without_gap_or_overlap() {
        let list = || ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let mut page = Page { limit: Some(2), cursor: None };
        let mut seen = Vec::new();
        loop {
            let (entries, next) = page.cut(list(), Clone::clone);
            seen.extend(entries);
            let Some(next) = next else { break };
            page.cursor = Some(next);
        }
        assert_eq!(seen, list());
        assert_eq!(Page::default().cut(list(), Clone::clone), (list(), None));
    }
}
