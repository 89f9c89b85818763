//! Under which server and settings a statement was written: what decides how its text is read.

pub use crate::model::Flavor;

/// How the text of a statement is to be read. Everything here comes from the event that carried the statement
/// (its sql_mode, its default schema) and from the server that wrote it, never from that server's globals of today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    pub flavor: Flavor,
    /// As in executable comments: 101119 is 10.11.19, 90704 is 9.7.4, 50744 is 5.7.44.
    pub version: u32,
    /// `"x"` is a name, not a string.
    pub ansi_quotes: bool,
    /// A backslash in a string is itself.
    pub no_backslash_escapes: bool,
    /// `COUNT (` is a function call; names of functions become reserved. It changes nothing in the statements
    /// understood here, and is kept for those that embed their context in another text.
    pub ignore_space: bool,
    /// MariaDB's `sql_mode=ORACLE`: DATE is DATETIME, and the types of that dialect are known.
    pub oracle: bool,
    /// `REAL` is FLOAT, not DOUBLE.
    pub real_as_float: bool,
    /// The schema of names that are not qualified.
    pub default_schema: Option<String>,
}

/// Bits of the 64-bit sql_mode in a query event's status variables.
mod mode {
    pub const REAL_AS_FLOAT: u64 = 1;
    pub const ANSI_QUOTES: u64 = 1 << 2;
    pub const IGNORE_SPACE: u64 = 1 << 3;
    pub const ORACLE: u64 = 1 << 9;
    pub const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
}

impl Context {
    /// The context of a session with an empty sql_mode and no default schema.
    pub fn new(flavor: Flavor, version: u32) -> Self {
        Self {
            flavor,
            version,
            ansi_quotes: false,
            no_backslash_escapes: false,
            ignore_space: false,
            oracle: false,
            real_as_float: false,
            default_schema: None,
        }
    }

    pub fn with_default_schema(mut self, schema: impl Into<String>) -> Self {
        self.default_schema = Some(schema.into());
        self
    }

    /// Takes over the bits of a query event's `sql_mode` that change how text is read.
    pub fn with_sql_mode(mut self, bits: u64) -> Self {
        self.real_as_float = bits & mode::REAL_AS_FLOAT != 0;
        self.ansi_quotes = bits & mode::ANSI_QUOTES != 0;
        self.ignore_space = bits & mode::IGNORE_SPACE != 0;
        self.oracle = self.flavor == Flavor::MariaDb && bits & mode::ORACLE != 0;
        self.no_backslash_escapes = bits & mode::NO_BACKSLASH_ESCAPES != 0;
        self
    }

    /// Takes over the words of `@@sql_mode` that change how text is read. Combined modes such as `ANSI` stand in
    /// that variable together with what they are made of.
    pub fn with_sql_mode_words(mut self, sql_mode: &str) -> Self {
        let has = |word: &str| sql_mode.split(',').any(|mode| mode.trim().eq_ignore_ascii_case(word));
        self.real_as_float = has("REAL_AS_FLOAT");
        self.ansi_quotes = has("ANSI_QUOTES");
        self.ignore_space = has("IGNORE_SPACE");
        self.oracle = self.flavor == Flavor::MariaDb && has("ORACLE");
        self.no_backslash_escapes = has("NO_BACKSLASH_ESCAPES");
        self
    }

    pub fn is_mariadb(&self) -> bool {
        self.flavor == Flavor::MariaDb
    }
}
