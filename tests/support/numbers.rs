//! Rows by the thousand, made by the server itself.

const DIGIT: &str = "(SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION \
                     SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)";

/// `SELECT n` for each n from 0 to below `count`, as a table expression named `numbers`: of as many digits as it takes,
/// since the server looks at every number that has no more.
pub fn numbers(count: u64) -> String {
    let places = count.saturating_sub(1).to_string().len();
    let list = |item: &dyn Fn(usize) -> String, between: &str| (0..places).map(item).collect::<Vec<_>>().join(between);
    let sum = list(&|place| format!("{}*d{place}.d", 10_u64.pow(u32::try_from(place).unwrap())), " + ");
    let digits = list(&|place| format!("{DIGIT} d{place}"), ", ");
    format!("(SELECT n FROM (SELECT {sum} AS n FROM {digits}) up_to WHERE n < {count}) numbers")
}
