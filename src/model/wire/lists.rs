//! Lists of names, each with the schema name DM gives it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

macro_rules! name_list {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[serde(transparent)]
        pub struct $name(pub Vec<String>);

        impl FromIterator<String> for $name {
            fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
                Self(names.into_iter().collect())
            }
        }
    };
}

name_list!(
    /// Names of sources.
    SourceNameList
);
name_list!(
    /// Names of tasks.
    TaskNameList
);
name_list!(
    /// Names of databases.
    SchemaNameList
);
name_list!(
    /// Names of tables.
    TableNameList
);
