//! What stands in an answer where a secret would.

/// DM's own mask; a client that sends it back means "unchanged".
pub const MASK: &str = "******";

/// Whether a value sent by a client is the mask and not a secret.
pub fn is_mask(value: &str) -> bool {
    value == MASK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_mask_means_unchanged() {
        assert!(is_mask("******"));
        assert!(!is_mask("*****"));
        assert!(!is_mask("*******"));
        assert!(!is_mask(""));
    }
}
