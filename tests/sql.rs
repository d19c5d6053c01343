//! Tests the text of SQL statements. `tests/sql/run` runs statements on real databases, and compares the answers with those of
//! casefilter.

use casefilter::sql::{Datum, Dialect, Table, write_copy};
use casefilter::{Catalog, Engine, ErrorKind, Field, FieldType, Filter, Order, SearchRequest};
use proptest::prelude::*;

#[path = "sql/tokens.rs"]
mod tokens;

fn catalog() -> Catalog {
    Catalog::cases()
        .with([
            Field::new("scores[]", FieldType::Number),
            Field::new("seen[]", FieldType::Timestamp),
            Field::new("level", FieldType::String).with_known(["it's", "a\\b", "${c}"]).with_default("it's"),
            Field::new("flag", FieldType::Boolean),
        ])
        .unwrap()
}

/// Returns the table of the catalogue, with folded columns and element columns.
fn table() -> Table {
    Table::new(&catalog()).with_folded().with_elements()
}

fn count(dialect: Dialect, text: &str) -> String {
    let filter = Filter::compile_text(&catalog(), text).unwrap();
    let statement = table().count(dialect, &filter).unwrap();
    tokens::check(&statement);
    let condition = statement.to_sql();
    condition.split_once(" WHERE ").map_or(condition.clone(), |(_, condition)| condition.to_owned())
}

#[test]
fn tests_have_the_fastest_form_of_each_database() {
    use Dialect::{ClickHouse, DuckDb, Postgres, Spark};
    for (text, dialect, wanted) in [
        ("name = a", Postgres, r#""name" = $1::text"#),
        ("name <> a", Postgres, r#"("name" IS NULL OR "name" <> $1::text)"#),
        ("priority <> low", Postgres, r#""priority" <> $1::text"#),
        ("name in (a, b)", Postgres, r#""name" = ANY ($1::text[])"#),
        ("name in (a, b)", ClickHouse, "`name` IN {p1:Array(String)}"),
        ("name in (a, b)", Spark, "array_contains(?, `name`)"),
        ("name in (a, b)", DuckDb, r#"list_contains($1::VARCHAR[], "name")"#),
        ("name <> a and name <> b", ClickHouse, "(`name` IS NULL OR `name` NOT IN {p1:Array(String)})"),
        ("tags <> a", Postgres, r#"NOT ("tags" && $1::text[])"#),
        ("tags all (a, b)", Postgres, r#""tags" @> $1::text[]"#),
        ("tags all (a, b)", ClickHouse, "hasAll(`tags`, {p1:Array(String)})"),
        ("tags all (a, b)", Spark, "size(array_except(?, `tags`)) = 0"),
        ("totalAmountInDefaultCurrency > 5", DuckDb, r#""total_amount_in_default_currency" > $1::DOUBLE"#),
        (
            "totalAmountInDefaultCurrency >= 5 and totalAmountInDefaultCurrency < 7",
            Postgres,
            r#"("total_amount_in_default_currency" >= $1::float8 AND "total_amount_in_default_currency" < $2::float8)"#,
        ),
        (
            "totalAmountInDefaultCurrency >= 5 or totalAmountInDefaultCurrency in (1, 2)",
            ClickHouse,
            "(`total_amount_in_default_currency` >= {p1:Float64} OR `total_amount_in_default_currency` IN {p2:Array(Float64)})",
        ),
        ("createdAt > \"1970-01-01 00:00:01\"", ClickHouse, "`created_at` > {p1:Int64}"),
        (
            "createdAt = \"1970-01-01 00:00:01\" or createdAt <> \"1970-01-01 00:00:01\"",
            Postgres,
            "SELECT count(*) FROM \"cases\"",
        ),
        (
            "createdAt < \"1970-01-01 00:00:01\" or createdAt > \"1970-01-01 00:00:00\"",
            Postgres,
            r#""created_at" IS NOT NULL"#,
        ),
        (
            "scores > 5",
            Postgres,
            r#"EXISTS (SELECT 1 FROM unnest("scores") AS element (x) WHERE x > $1::float8)"#,
        ),
        (
            "seen < \"1970-01-01 00:00:01\" or seen = \"1980-01-01 00:00:01\"",
            ClickHouse,
            "arrayExists(x -> x < {p1:Int64} OR x = {p2:Int64}, `seen`)",
        ),
        ("seen >= \"1970-01-01 00:00:01\"", Spark, "exists(`seen`, x -> x >= ?)"),
        (
            "seen >= \"1970-01-01 00:00:01\"",
            DuckDb,
            r#"len(list_filter("seen", lambda x: x >= $1::BIGINT)) > 0"#,
        ),
        (
            "name = a and (tags in (b) or clientId = c)",
            Postgres,
            r#""name" = $1::text AND ("client_id" = $2::text OR "tags" && $3::text[])"#,
        ),
        ("name = \"a\\u0000\"", Postgres, "FALSE"),
        ("name in (a, \"a\\u0000\")", Postgres, r#""name" = $1::text"#),
        ("name <> \"a\\u0000\"", Postgres, "TRUE"),
        ("tags all (a, \"a\\u0000\")", Postgres, "FALSE"),
    ] {
        assert_eq!(count(dialect, text), wanted, "{text}");
    }
}

#[test]
fn presence_is_a_test_of_the_column() {
    use Dialect::{ClickHouse, DuckDb, Postgres, Spark};
    for (text, dialect, wanted) in [
        ("name is present", Postgres, r#""name" IS NOT NULL"#),
        ("name is absent", ClickHouse, "`name` IS NULL"),
        ("totalAmountInDefaultCurrency is absent", Spark, "`total_amount_in_default_currency` IS NULL"),
        ("flag is present", DuckDb, r#""flag" IS NOT NULL"#),
        ("flag = true or flag = false", DuckDb, r#""flag" IS NOT NULL"#),
        ("not (flag = true or flag = false)", DuckDb, r#""flag" IS NULL"#),
        ("tags is present", Postgres, r#"cardinality("tags") > 0"#),
        ("tags is absent", Postgres, r#"NOT (cardinality("tags") > 0)"#),
        ("tags is present", ClickHouse, "notEmpty(`tags`)"),
        ("scores is present", Spark, "size(`scores`) > 0"),
        ("seen is absent", DuckDb, r#"NOT (len("seen") > 0)"#),
        // A field with a default has a value in every case.
        ("priority is absent", Postgres, "FALSE"),
        ("id is present", Postgres, r#"SELECT count(*) FROM "cases""#),
    ] {
        assert_eq!(count(dialect, text), wanted, "{text}");
    }
}

#[test]
fn a_negation_selects_absent_values_and_is_never_null() {
    use Dialect::{ClickHouse, DuckDb, Postgres, Spark};
    for (text, dialect, wanted) in [
        (
            "not totalAmountInDefaultCurrency > 5",
            Postgres,
            r#"("total_amount_in_default_currency" IS NULL OR NOT ("total_amount_in_default_currency" > $1::float8))"#,
        ),
        (
            "not (createdAt >= \"1970-01-01 00:00:01\" and createdAt < \"1970-01-01 00:00:03\")",
            ClickHouse,
            "(`created_at` IS NULL OR NOT ((`created_at` >= {p1:Int64} AND `created_at` < {p2:Int64})))",
        ),
        (
            "not (totalAmountInDefaultCurrency > 5 or totalAmountInDefaultCurrency = 1)",
            Spark,
            "(`total_amount_in_default_currency` IS NULL OR NOT (`total_amount_in_default_currency` > ? OR \
             `total_amount_in_default_currency` = ?))",
        ),
        ("not scores > 5", Spark, "NOT (exists(`scores`, x -> x > ?))"),
        ("not scores > 5", DuckDb, r#"NOT (len(list_filter("scores", lambda x: x > $1::DOUBLE)) > 0)"#),
        ("not priority starts with l", Postgres, r#"NOT (starts_with("priority", $1::text))"#),
        ("not name starts with l", DuckDb, r#"("name" IS NULL OR NOT (starts_with("name", $1::VARCHAR)))"#),
        (
            "not name matches \"a b\"",
            Spark,
            "(`name_folded` IS NULL OR NOT (contains(`name_folded`, ?) AND contains(`name_folded`, ?)))",
        ),
        ("not tags includes a", ClickHouse, "NOT (arrayExists(x -> position(x, {p1:String}) > 0, `tags`))"),
        ("not tags all (a, b)", Postgres, r#"NOT ("tags" @> $1::text[])"#),
        ("not tags all (a, b)", Spark, "NOT (size(array_except(?, `tags`)) = 0)"),
        // A test for both values of a boolean is not the same as a test for any value.
        (
            "caseReview.checklistState.checklist.checked all (true, false)",
            ClickHouse,
            "hasAll(`case_review_checklist_state_checklist_checked`, {p1:Array(Bool)})",
        ),
        (
            "not caseReview.checklistState.checklist.checked all (true, false)",
            ClickHouse,
            "NOT (hasAll(`case_review_checklist_state_checklist_checked`, {p1:Array(Bool)}))",
        ),
        (
            "caseReview.checklistState.checklist.checked in (true, false)",
            ClickHouse,
            "notEmpty(`case_review_checklist_state_checklist_checked`)",
        ),
        ("not tags all (a, b)", DuckDb, r#"NOT (len("tags") >= 2 AND list_has_all("tags", $1::VARCHAR[]))"#),
        ("not tags all (a, \"a\\u0000\")", Postgres, "TRUE"),
        ("not name starts with \"\\u0000\"", Postgres, "TRUE"),
    ] {
        assert_eq!(count(dialect, text), wanted, "{text}");
    }
}

#[test]
fn texts_are_compared_by_code_points_without_patterns_of_the_database() {
    use Dialect::{ClickHouse, DuckDb, Postgres, Spark};
    for (text, dialect, wanted) in [
        ("name starts with Gar", Postgres, r#"starts_with("name", $1::text)"#),
        ("name starts with Gar", ClickHouse, "startsWith(`name`, {p1:String})"),
        ("name starts with Gar", Spark, "startswith(`name`, ?)"),
        (
            "name starts with (a, b)",
            DuckDb,
            r#"(starts_with("name", $1::VARCHAR) OR starts_with("name", $2::VARCHAR))"#,
        ),
        ("name includes arc", Postgres, r#""name" LIKE $1::text"#),
        ("name includes arc", ClickHouse, "position(`name`, {p1:String}) > 0"),
        ("name includes arc", Spark, "contains(`name`, ?)"),
        ("name includes arc", DuckDb, r#"contains("name", $1::VARCHAR)"#),
        (
            "name matches \"Lopez GARCÍA\"",
            Postgres,
            r#"("name_folded" LIKE $1::text AND "name_folded" LIKE $2::text)"#,
        ),
        (
            "tags starts with a",
            Postgres,
            r#"EXISTS (SELECT 1 FROM unnest("tags") AS element (x) WHERE starts_with(x, $1::text))"#,
        ),
        ("tags includes (a, b)", Spark, "exists(`tags`, x -> contains(x, ?) OR contains(x, ?))"),
        (
            "tags matches \"a b\"",
            ClickHouse,
            "arrayExists(x -> position(x, {p1:String}) > 0 AND position(x, {p2:String}) > 0, `tags_folded`)",
        ),
        ("name starts with \"a\\u0000\"", Postgres, "FALSE"),
        ("name starts with (a, \"b\\u0000\")", Postgres, r#"starts_with("name", $1::text)"#),
        ("name includes (a, \"b\\u0000\")", Postgres, r#""name" LIKE $1::text"#),
        // Every word must be found.
        ("name matches \"a b\\u0000\"", Postgres, "FALSE"),
        ("name starts with \"b\\u0000\"", DuckDb, r#"starts_with("name", $1::VARCHAR)"#),
    ] {
        assert_eq!(count(dialect, text), wanted, "{text}");
    }
}

#[test]
fn patterns_of_postgresql_escape_wildcards() {
    let params = |text: &str| {
        let filter = Filter::compile_text(&catalog(), text).unwrap();
        let statement = table().count(Dialect::Postgres, &filter).unwrap();
        serde_json::to_value(statement.params()).unwrap()
    };
    assert_eq!(params(r#"name includes "50%_\\ a""#), serde_json::json!([r"%50\%\_\\ a%"]));
    assert_eq!(params(r#"name starts with "50%_\\ a""#), serde_json::json!([r"50%_\ a"]));
    // Words are folded.
    assert_eq!(params("name matches \"É_B 100%\""), serde_json::json!([r"%100\%%", r"%e\_b%"]));
}

/// Returns a list of `count` values for the text syntax, each of `digits` digits.
fn values(count: usize, digits: usize) -> String {
    (0..count).map(|number| format!("{number:0digits$}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn many_values_become_lists() {
    use Dialect::{ClickHouse, DuckDb, Postgres, Spark};
    let nine = values(9, 1);
    for (dialect, prefixes, substrings, words) in [
        (
            Postgres,
            r#"left("name", 1) = ANY ($1::text[])"#,
            r#""name" LIKE ANY ($1::text[])"#,
            r#""name_folded" LIKE ALL ($1::text[])"#,
        ),
        (
            ClickHouse,
            "substring(`name`, 1, 1) IN {p1:Array(String)}",
            "multiSearchAny(`name`, {p1:Array(String)})",
            "(`name_folded` IS NOT NULL AND arrayAll(_at -> _at > 0, \
             multiSearchAllPositions(assumeNotNull(`name_folded`), {p1:Array(String)})))",
        ),
        (
            Spark,
            "array_contains(?, substring(`name`, 1, 1))",
            "exists(?, _part -> contains(`name`, _part))",
            "forall(?, _part -> contains(`name_folded`, _part))",
        ),
        (
            DuckDb,
            r#"list_contains($1::VARCHAR[], left("name", 1))"#,
            r#"len(list_filter($1::VARCHAR[], lambda _part: contains("name", _part))) > 0"#,
            r#"len(list_filter($1::VARCHAR[], lambda _part: contains("name_folded", _part))) = 9"#,
        ),
    ] {
        assert_eq!(count(dialect, &format!("name starts with ({nine})")), prefixes);
        assert_eq!(count(dialect, &format!("name includes ({nine})")), substrings);
        assert_eq!(count(dialect, &format!("name matches \"{}\"", nine.replace(", ", " "))), words);
    }
    // One list for each length, in code points or bytes.
    let prefixes = format!("name starts with ({nine}, é, üb, ab)");
    assert_eq!(
        count(Postgres, &prefixes),
        r#"(left("name", 1) = ANY ($1::text[]) OR left("name", 2) = ANY ($2::text[]))"#
    );
    assert_eq!(
        count(ClickHouse, &prefixes),
        "(substring(`name`, 1, 1) IN {p1:Array(String)} OR substring(`name`, 1, 2) IN {p2:Array(String)} OR \
         substring(`name`, 1, 3) IN {p3:Array(String)})"
    );
    // ClickHouse searches at most 255 substrings at once.
    let many = count(ClickHouse, &format!("tags includes ({})", values(600, 3)));
    assert_eq!(many.matches("multiSearchAny(x, ").count(), 3, "{many}");
    assert!(many.starts_with("arrayExists(x -> multiSearchAny") && many.contains(" OR "), "{many}");
    let many = count(ClickHouse, &format!("not name matches \"{}\"", values(600, 3).replace(", ", " ")));
    assert_eq!(many.matches("multiSearchAllPositions(").count(), 3, "{many}");
    assert!(many.starts_with("(`name_folded` IS NULL OR NOT (") && many.contains(")) AND ("), "{many}");
    // Also no more bytes than it reads in linear time.
    let long: Vec<String> = (0..255).map(|number| format!("{number:04000}")).collect();
    let many = count(ClickHouse, &format!("name includes ({})", long.join(", ")));
    assert_eq!(many.matches("multiSearchAny(").count(), 4, "{many}");
}

#[test]
fn no_lambda_of_duckdb_contains_a_subquery() {
    let exists = r#"EXISTS (SELECT 1 FROM (SELECT unnest("#;
    for (text, inner) in [
        (format!("tags starts with ({})", values(100, 2)), "left(x, 2) IN (SELECT unnest($1::VARCHAR[]))"),
        (
            format!(
                "scores in ({}) or scores > 200",
                (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
            ),
            "x > $1::DOUBLE OR x IN (SELECT unnest($2::DOUBLE[]))",
        ),
    ] {
        for text in [text.clone(), format!("not ({text})")] {
            let condition = count(Dialect::DuckDb, &text);
            assert!(condition.contains(exists) && condition.contains(inner), "{condition}");
            assert!(!condition.contains("lambda"), "{condition}");
        }
    }
}

#[test]
fn words_need_a_folded_column() {
    let filter = Filter::compile_text(&catalog(), "flag = true or tags matches \"garcia\"").unwrap();
    let request = SearchRequest::new(filter.clone());
    for dialect in Dialect::ALL {
        for table in [Table::new(&catalog()), Table::new(&catalog()).with_folded_fields(["name"]).unwrap()] {
            let error = table.count(dialect, &filter).unwrap_err();
            assert_eq!(table.page(dialect, &request).unwrap_err(), error);
            assert_eq!(error.kind, ErrorKind::NoFoldedColumn);
            assert_eq!(
                error.to_string(),
                "tags: found `$match` on a field without a folded column in the table, expected a table and an export with folded \
                 columns: `--folded` of `casefilter export`, `ddl` and `sql`, or `Table::with_folded`"
            );
        }
        let some = Table::new(&catalog()).with_folded_fields(["tags"]).unwrap();
        assert_eq!(
            some.count(dialect, &filter).unwrap().to_sql(),
            table().count(dialect, &filter).unwrap().to_sql()
        );
    }
    // Other filters do not change with folded columns.
    let other = Filter::compile_text(&catalog(), "name includes a and not tags all (a, b)").unwrap();
    let sql = |table: Table| table.count(Dialect::Postgres, &other).unwrap().to_sql();
    assert_eq!(sql(table()), sql(Table::new(&catalog())));
}

fn order(dialect: Dialect, order: &str, offset: u64, limit: u64) -> String {
    let request = SearchRequest::new(Filter::all(&catalog()))
        .with_order(Order::parse_list(&catalog(), order).unwrap())
        .with_offset(offset)
        .with_limit(limit);
    let sql = Table::new(&catalog()).page(dialect, &request).unwrap().to_literal();
    tokens::tokens(dialect, &sql).unwrap();
    sql
}

#[test]
fn an_order_sorts_known_values_first_absent_ones_last_and_ties_by_id() {
    let cases = "SELECT `id`, `document` FROM `cases` ORDER BY";
    let behind = |order: &str| format!("{cases} {order} LIMIT 100");
    for (text, wanted) in [
        ("", "`place`"),
        ("id", "`id`"),
        ("-id", "`id` DESC"),
        ("-createdAt", "`created_at` DESC NULLS LAST, `id`"),
        ("-createdAt,name", "`created_at` DESC NULLS LAST, `name` NULLS LAST, `id`"),
        ("name,-id", "`name` NULLS LAST, `id` DESC"),
        (
            "priority",
            "CASE WHEN `priority` = 'low' THEN 0 WHEN `priority` = 'medium' THEN 1 WHEN `priority` = 'high' THEN 2 ELSE 3 END, `priority`, `id`",
        ),
        (
            "-level",
            r"CASE WHEN `level` = 'it\'s' THEN 0 WHEN `level` = 'a\\b' THEN 1 WHEN `level` = '${c}' THEN 2 ELSE 3 END DESC, `level` DESC, `id`",
        ),
    ] {
        assert_eq!(order(Dialect::ClickHouse, text, 0, 100), behind(wanted));
    }
    assert!(
        order(Dialect::Postgres, "name", 0, 1)
            .ends_with(r#"ORDER BY "name" COLLATE "C" NULLS LAST, "id" COLLATE "C" LIMIT 1"#)
    );
    assert!(order(Dialect::DuckDb, "name", u64::MAX, 1).ends_with("LIMIT 1 OFFSET 4611686018427387903"));
    assert_eq!(
        order(Dialect::Spark, "name", 3_000_000_000, 1),
        "SELECT `id`, `document` FROM (SELECT `id`, `document`, row_number() OVER (ORDER BY `name` NULLS LAST, `id`) AS `number` \
         FROM `cases`) WHERE `number` > 3000000000L AND `number` <= 3000000001L ORDER BY `number`"
    );
}

/// Returns the condition of the page after the first case of the documents, in an order.
fn behind(dialect: Dialect, order: &str, filter: &str, documents: &[&str]) -> String {
    let engine = Engine::new(catalog());
    engine.upsert_many(documents.join("\n").as_bytes()).unwrap();
    let request = SearchRequest::new(Filter::compile_text(&catalog(), filter).unwrap())
        .with_order(Order::parse_list(&catalog(), order).unwrap())
        .with_limit(1)
        .with_cursor(true);
    let next = engine.search(&request).unwrap().next().cloned();
    let statement = Table::new(&catalog()).page(dialect, &request.with_after(next)).unwrap();
    let sql = statement.to_literal();
    tokens::tokens(dialect, &sql).unwrap();
    let (_, condition) = sql.split_once(" WHERE ").unwrap();
    condition.split_once(" ORDER BY ").unwrap().0.to_owned()
}

#[test]
fn a_cursor_becomes_a_condition() {
    let named = [r#"{"id":"a","name":"x","priority":"high"}"#, r#"{"id":"b","name":"x","priority":"own"}"#];
    let of = |order: &str| behind(Dialect::ClickHouse, order, "true", &named);
    assert_eq!(of(""), "`place` > toInt64(0)");
    assert_eq!(of("id"), "(`id` > 'a')");
    assert_eq!(of("name"), "(`name` > 'x' OR `name` IS NULL) OR `name` = 'x' AND (`id` > 'a')");
    assert_eq!(
        of("-createdAt,name"),
        "`created_at` IS NULL AND (`name` > 'x' OR `name` IS NULL) OR `created_at` IS NULL AND `name` = 'x' AND (`id` > 'a')"
    );
    let rank = "CASE WHEN `priority` = 'low' THEN 0 WHEN `priority` = 'medium' THEN 1 WHEN `priority` = 'high' THEN 2 ELSE 3 END";
    assert_eq!(of("priority"), format!("({rank} > 2) OR `priority` = 'high' AND (`id` > 'a')"));
    assert_eq!(
        of("-priority"),
        format!("({rank} < 3 OR {rank} = 3 AND `priority` < 'own') OR `priority` = 'own' AND (`id` > 'b')")
    );
    let filtered = behind(Dialect::Postgres, "name", "name = x or priority = own", &named);
    let (filter, position) = filtered.split_once(") AND (").unwrap();
    assert!(filter.starts_with('(') && filter.contains(" OR "), "{filtered}");
    assert_eq!(
        position,
        r#"("name" COLLATE "C" > E'x'::text OR "name" IS NULL) OR "name" = E'x'::text AND ("id" COLLATE "C" > E'a'::text))"#
    );
    // PostgreSQL cannot hold this name. A name in the table comes after this name exactly if it comes after the text before the
    // null character.
    let zero = [r#"{"id":"a","name":"x\u0000y"}"#, r#"{"id":"b","name":"z"}"#];
    assert_eq!(
        behind(Dialect::Postgres, "name", "true", &zero),
        r#"("name" COLLATE "C" > E'x'::text OR "name" IS NULL) OR FALSE AND ("id" COLLATE "C" > E'a'::text)"#
    );
    let zero = [r#"{"id":"a","name":"x\u0000y"}"#, r#"{"id":"b","name":"w"}"#];
    assert_eq!(
        behind(Dialect::Postgres, "-name", "true", &zero),
        r#"("name" COLLATE "C" <= E'x'::text OR "name" IS NULL) OR FALSE AND ("id" COLLATE "C" > E'a'::text)"#
    );
}

#[test]
fn scripts_name_every_column() {
    let plain = Table::new(&catalog()).named("compliance.cases").unwrap();
    for dialect in Dialect::ALL {
        for table in [plain.clone(), plain.clone().with_folded()] {
            let script = table.script(dialect, "it's\\a.parquet");
            for column in table.columns() {
                assert!(script.contains(column.name()), "{dialect} {}", column.name());
            }
        }
        let plain = plain.script(dialect, "a");
        assert!(!plain.contains("folded"), "{plain}");
        let folded = Table::new(&catalog()).with_folded().script(dialect, "a");
        assert!(
            folded.contains("--folded -o a\n") && folded.contains("folded |") | folded.contains("folded >"),
            "{folded}"
        );
        // The default is folded too.
        let default = folded.lines().find(|line| line.contains("level_folded")).unwrap();
        assert!(dialect == Dialect::Spark || default.contains("it"), "{default}");
        assert_eq!(folded.contains("gin_trgm_ops"), dialect == Dialect::Postgres);
    }
}

#[test]
fn no_file_name_ends_a_comment_or_a_string() {
    let table = Table::new(&catalog());
    for dialect in Dialect::ALL {
        let script = table.script(dialect, "a\nDROP TABLE cases; --'`\"");
        let code = script.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
        let quoted = match dialect {
            Dialect::Postgres => "'a DROP TABLE cases; --''`\"'",
            Dialect::DuckDb => "'a\nDROP TABLE cases; --''`\"'",
            Dialect::ClickHouse => "'a\nDROP TABLE cases; --\\'\\`\"'",
            Dialect::Spark => "`a\nDROP TABLE cases; --'``\"`",
            _ => panic!("no test of {dialect}"),
        };
        assert!(code.contains(quoted), "{script}");
        assert_eq!(code.matches("DROP TABLE").count(), 1, "{script}");
    }
}

/// ClickHouse takes a literal beyond 32 bits for an unsigned integer, and cannot compare a list of them with a list of signed ones.
#[test]
fn lists_of_integers_are_signed_for_clickhouse() {
    let catalog = Catalog::new([Field::new("codes[]", FieldType::Integer)]).unwrap();
    let literal = |text: &str| {
        let filter = Filter::compile_text(&catalog, text).unwrap();
        Table::new(&catalog).count(Dialect::ClickHouse, &filter).unwrap().to_literal()
    };
    let list = "[2, 9007199254740993]::Array(Int64)";
    for (text, function) in
        [("codes in (9007199254740993, 2)", "hasAny"), ("codes all (9007199254740993, 2)", "hasAll")]
    {
        let literal = literal(text);
        assert!(literal.contains(&format!("{function}(`codes`, {list})")), "{literal}");
    }
}

/// Decimals are exact in every dialect: no literal and no parameter is a double.
#[test]
fn decimals_and_defaults_have_the_types_of_the_dialect() {
    let catalog = Catalog::new([
        Field::new("price", FieldType::Decimal { scale: 2 }),
        Field::new("fees[]", FieldType::Decimal { scale: 2 }).with_default("0.5"),
        Field::new("count", FieldType::Integer).with_known(["1", "7"]).with_default("7"),
    ]);
    let table = Table::new(&catalog.unwrap());
    let filter =
        Filter::compile_text(table.catalog(), "price >= 92233720368547758.06 and fees in (1, 2.5)").unwrap();
    for (dialect, bound, literals, columns) in [
        (
            Dialect::Postgres,
            ["$1::text::numeric(19,2)", "$2::text[]::numeric(19,2)[]"],
            ["'92233720368547758.06'::numeric(19,2)", "ARRAY['1.00'::numeric(19,2)"],
            ["numeric(19,2)", "NOT NULL DEFAULT ARRAY['0.50'::numeric(19,2)]", "DEFAULT '7'::bigint"],
        ),
        (
            Dialect::DuckDb,
            ["$1::DECIMAL(19,2)", "$2::DECIMAL(19,2)[]"],
            ["'92233720368547758.06'::DECIMAL(19,2)", "['1.00', '2.50']::DECIMAL(19,2)[]"],
            ["DECIMAL(19,2)", "NOT NULL DEFAULT ['0.50']::DECIMAL(19,2)[]", "DEFAULT '7'::BIGINT"],
        ),
        (
            Dialect::ClickHouse,
            ["{p1:Decimal(19, 2)}", "{p2:Array(String)}::Array(Decimal(19, 2))"],
            ["'92233720368547758.06'::Decimal(19, 2)", "[1.00, 2.50]::Array(Decimal(19, 2))"],
            ["Decimal(19, 2)", "DEFAULT [0.50]::Array(Decimal(19, 2))", "DEFAULT toInt64(7)"],
        ),
        (
            Dialect::Spark,
            ["CAST(? AS DECIMAL(19,2))", "CAST(? AS ARRAY<DECIMAL(19,2)>)"],
            ["CAST('92233720368547758.06' AS DECIMAL(19,2))", "array(CAST('1.00' AS DECIMAL(19,2))"],
            ["DECIMAL(19,2)", "ARRAY<DECIMAL(19,2)>", "BIGINT"],
        ),
    ] {
        let statement = table.count(dialect, &filter).unwrap();
        tokens::check(&statement);
        let (sql, literal, script) =
            (statement.to_sql(), statement.to_literal(), table.script(dialect, "cases.parquet"));
        assert!(bound.iter().all(|part| sql.contains(part)), "{sql}");
        assert!(literals.iter().all(|part| literal.contains(part)), "{literal}");
        assert!(columns.iter().all(|part| script.contains(part)), "{script}");
    }
    let row = table.row(7, r#"{"id":"a","price":"12.5"}"#).unwrap();
    let decimal = |text: &str| text.parse::<casefilter::Decimal>().unwrap();
    assert_eq!(row[2], Datum::Decimal(decimal("12.50")));
    assert_eq!(row[3], Datum::Decimals(vec![decimal("0.50")]));
    assert_eq!(row[4], Datum::Integer(7));
}

#[test]
fn a_filter_or_order_of_another_catalogue_is_an_error() {
    let all = Catalog::cases();
    let narrow = Table::new(&all.allow(["tags"]).unwrap());
    let filter = Filter::compile_text(&all, "name = a").unwrap();
    let kind = |error: casefilter::Error| error.kind;
    let mismatch = Some(casefilter::ErrorKind::CatalogMismatch);
    assert_eq!(narrow.count(Dialect::Spark, &filter).err().map(kind), mismatch);
    assert_eq!(narrow.page(Dialect::Spark, &SearchRequest::new(filter)).err().map(kind), mismatch);
    let hidden = SearchRequest::new(Filter::all(narrow.catalog()))
        .with_order(Order::parse(&all, "createdAt").unwrap());
    assert_eq!(narrow.page(Dialect::Spark, &hidden).err().map(kind), mismatch);
    assert_eq!(Table::new(&all).page(Dialect::Spark, &hidden).err().map(kind), mismatch);
}

#[test]
fn seeds_of_the_fuzzer_are_valid() {
    let fuzz = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    // A published package has no fuzzer.
    if !fuzz.exists() {
        return;
    }
    let mut compiled = 0;
    for seed in std::fs::read_dir(fuzz.join("seeds/sql")).unwrap() {
        let text = std::fs::read_to_string(seed.unwrap().path()).unwrap();
        let filter = Filter::compile(&catalog().extended(), text.as_bytes())
            .or_else(|_| Filter::compile_text(&catalog(), &text));
        compiled += 1;
        for dialect in Dialect::ALL {
            tokens::check(&table().count(dialect, filter.as_ref().unwrap()).unwrap());
        }
    }
    assert!(compiled > 10);
}

/// Strings that quoting often gets wrong.
const PIECES: &[&str] = &[
    "'",
    "''",
    "\\",
    "\\'",
    "\"",
    "`",
    "\0",
    "${",
    "}",
    "$1",
    "?",
    "--",
    "/*",
    ";",
    "%",
    "\n",
    "\r",
    "\n-- ",
    ";\n",
    "\t",
    "😀",
    "a",
    "0",
    "u0041",
    "{p1:String}",
];

/// Returns strings that quoting often gets wrong, and any others.
fn hard_text() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(proptest::sample::select(PIECES), 0..8).prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

/// Decodes the fields of a line of `COPY`, by the manual of PostgreSQL; `None` for a null.
fn read_copy(line: &str) -> Vec<Option<String>> {
    let line = line.strip_suffix('\n').unwrap();
    assert!(!line.contains(['\n', '\r', '\0']), "{line:?}");
    let decode = |field: &str| {
        let mut decoded = String::new();
        let mut rest = field.chars();
        while let Some(c) = rest.next() {
            decoded.push(match (c, c == '\\') {
                (_, false) => c,
                _ => match rest.next().unwrap() {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    '\\' => '\\',
                    other => panic!("the escape {other}"),
                },
            });
        }
        decoded
    };
    line.split('\t').map(|field| (field != "\\N").then(|| decode(field))).collect()
}

/// Decodes the strings of an array as PostgreSQL writes it, with every string in quotes.
fn read_array(text: &str) -> Vec<String> {
    let mut strings = Vec::new();
    let mut rest = text.strip_prefix('{').unwrap().strip_suffix('}').unwrap().chars();
    while let Some(c) = rest.next() {
        assert_eq!(c, '"', "{text}");
        let mut string = String::new();
        loop {
            match rest.next().unwrap() {
                '"' => break,
                '\\' => string.push(rest.next().unwrap()),
                other => string.push(other),
            }
        }
        strings.push(string);
        assert!(matches!(rest.next(), None | Some(',')), "{text}");
    }
    strings
}

proptest! {
    #[test]
    fn a_line_of_copy_decodes_to_the_row(
        name in proptest::option::of(hard_text()),
        tags in proptest::collection::vec(hard_text(), 0..4),
        amount in any::<f64>(),
    ) {
        let table = Table::new(&Catalog::cases().allow(["name", "tags", "totalAmountInDefaultCurrency", "createdAt"]).unwrap());
        let document = serde_json::json!({"id": "it's", "name": name, "tags": tags, "totalAmountInDefaultCurrency": amount}).to_string();
        let row = table.row(3, &document).unwrap();
        let mut line = String::from("before");
        let written = write_copy(&table, &row, &mut line);
        let zero = name.iter().chain(&tags).any(|text| text.contains('\0'));
        prop_assert_eq!(written.is_err(), zero);
        if let Err(error) = written {
            prop_assert_eq!(line, "before");
            prop_assert!(error.path == "name" || error.path == "tags");
        } else {
            let fields = read_copy(line.strip_prefix("before").unwrap());
            prop_assert_eq!(&fields[..3], [Some("3".to_owned()), Some("it's".to_owned()), name]);
            prop_assert_eq!(&fields[3], &None);
            let number = fields[4].as_ref().map(|text| text.parse::<f64>().unwrap() + 0.0);
            let wanted = amount.is_finite().then_some(amount + 0.0);
            prop_assert_eq!(number.map(f64::to_bits), wanted.map(f64::to_bits));
            prop_assert_eq!(read_array(fields[5].as_ref().unwrap()), tags);
            prop_assert_eq!(fields[6].as_deref(), Some(document.as_str()));
            prop_assert_eq!(&row[6], &Datum::Text(document.as_str().into()));
        }
    }

    #[test]
    fn literals_decode_to_the_values(
        texts in proptest::collection::vec(hard_text(), 1..5),
        numbers in proptest::collection::vec(any::<f64>(), 1..5),
        seconds in proptest::collection::vec(0_u32..86_400, 1..5),
        all in any::<bool>(),
    ) {
        let json = |values: &[String]| serde_json::to_string(values).unwrap();
        let numbers: Vec<String> = numbers.iter().filter(|number| number.is_finite()).map(|number| format!("{number:e}")).collect();
        let times: Vec<String> = seconds.iter()
            .map(|second| format!("0000-12-31 {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60))
            .collect();
        let mut criteria = Vec::new();
        for (fields, values) in [(["name", "tags"], &texts), (["totalAmountInDefaultCurrency", "scores"], &numbers), (["createdAt", "seen"], &times)] {
            if let Some(first) = values.first() {
                for field in fields {
                    let test = |op: &str, values: &str| format!(r#"{{"field":"{field}","op":"{op}","values":{values}}}"#);
                    criteria.push(test("$contains", &json(values)));
                    criteria.push(test("<>", &json(std::slice::from_ref(first))));
                    if all { criteria.push(test("$all", &json(values))); }
                    if field != "name" && field != "tags" { criteria.push(test(">", &json(std::slice::from_ref(first)))); }
                    if field == "name" || field == "tags" {
                        let whole: Vec<String> = values.iter().map(|text| format!("{text}a")).collect();
                        criteria.push(test("$startsWith", &json(&whole)));
                        criteria.push(test("$substring", &json(&whole)));
                        criteria.push(test("$match", &json(&whole[..1])));
                        criteria.push(format!(r#"{{"op":"$not","children":[{}]}}"#, test("$match", &json(&[whole.join(" ")]))));
                    }
                    criteria.push(test("$exists", r#"["false"]"#));
                    let one = |op: &str| format!(r#"{{"field":"amlCases.amlCaseId","op":"{op}","values":{}}}"#, json(values));
                    let absent = r#"{"field":"amlCases.amlCaseId","op":"$exists","values":["false"]}"#;
                    let either = format!(r#"{{"op":"$or","children":[{},{absent}]}}"#, one("$contains"));
                    criteria.push(format!(r#"{{"op":"$elem","field":"amlCases","children":[{either}]}}"#));
                }
            }
        }
        let body = format!(r#"{{"criteria":[{{"op":"$or","children":[{}]}}]}}"#, criteria.join(","));
        let filter = Filter::compile(&catalog().extended(), body.as_bytes()).unwrap();
        for criterion in criteria {
            let body = format!(r#"{{"criteria":[{criterion}]}}"#);
            let one = Filter::compile(&catalog().extended(), body.as_bytes()).unwrap();
            for dialect in Dialect::ALL {
                tokens::check(&table().count(dialect, &one).unwrap());
            }
        }
        for dialect in Dialect::ALL {
            tokens::check(&table().count(dialect, &filter).unwrap());
        }
    }
}

fn legs() -> Catalog {
    Catalog::new([
        Field::new("legs[].bank", FieldType::String),
        Field::new("legs[].amount", FieldType::Number),
        Field::new("legs[].marks[]", FieldType::String),
        Field::new("legs[].fees[].kind", FieldType::String),
        Field::new("legs[].fees[].cost", FieldType::Integer),
        Field::new("n", FieldType::Number),
    ])
    .unwrap()
}

fn count_legs(dialect: Dialect, text: &str) -> String {
    let filter = Filter::compile_text(&legs(), text).unwrap();
    let statement = Table::new(&legs()).with_elements().with_folded().count(dialect, &filter).unwrap();
    tokens::check(&statement);
    statement.to_sql().split_once(" WHERE ").unwrap().1.to_owned()
}

#[test]
fn elements_are_tested_by_sets_of_their_numbers() {
    use Dialect::{ClickHouse, DuckDb, Postgres, Spark};
    for (text, dialect, wanted) in [
        (
            "legs has (bank = a and amount > 5)",
            Postgres,
            r#"("legs_bank" && $1::text[] AND EXISTS (SELECT 1 FROM unnest("legs_amount") AS element (x) WHERE x > $2::float8) AND EXISTS ((SELECT _n FROM unnest("legs_bank_element", "legs_bank") AS _value (_n, _x) WHERE _x = $3::text) INTERSECT (SELECT _n FROM unnest("legs_amount_element", "legs_amount") AS _value (_n, _x) WHERE _x > $4::float8)))"#,
        ),
        (
            "legs has (bank = a and amount > 5)",
            ClickHouse,
            "(hasAny(`legs_bank`, {p1:Array(String)}) AND arrayExists(x -> x > {p2:Float64}, `legs_amount`) AND notEmpty(arrayIntersect(arrayFilter((_n, _x) -> _x = {p3:String}, `legs_bank_element`, `legs_bank`), arrayFilter((_n, _x) -> _x > {p4:Float64}, `legs_amount_element`, `legs_amount`))))",
        ),
        (
            "legs has (bank = a and amount > 5)",
            Spark,
            "(arrays_overlap(`legs_bank`, ?) AND exists(`legs_amount`, x -> x > ?) AND size(array_intersect(array_compact(zip_with(`legs_bank_element`, `legs_bank`, (_n, _x) -> IF(_x = ?, _n, NULL))), array_compact(zip_with(`legs_amount_element`, `legs_amount`, (_n, _x) -> IF(_x > ?, _n, NULL))))) > 0)",
        ),
        (
            "legs has (bank = a and amount > 5)",
            DuckDb,
            r#"(list_has_any("legs_bank", $1::VARCHAR[]) AND len(list_filter("legs_amount", lambda x: x > $2::DOUBLE)) > 0 AND len(list_intersect(list_where("legs_bank_element", list_transform("legs_bank", lambda _x: _x = $3::VARCHAR)), list_where("legs_amount_element", list_transform("legs_amount", lambda _x: _x > $4::DOUBLE)))) > 0)"#,
        ),
        (
            "not legs has (not bank = a)",
            Postgres,
            r#"NOT (EXISTS ((SELECT _n FROM unnest("legs_element") AS _element (_n)) EXCEPT (SELECT _n FROM unnest("legs_bank_element", "legs_bank") AS _value (_n, _x) WHERE _x = $1::text)))"#,
        ),
        ("legs has (bank is absent)", Spark, "(size(array_except(`legs_element`, `legs_bank_element`)) > 0)"),
        (
            "legs has (not bank = a)",
            ClickHouse,
            "(notEmpty(arrayFilter((_entry, _count) -> _count = 1, `legs_element`, arrayResize(arrayReverse(arrayEnumerateUniq(arrayReverse(arrayConcat(`legs_element`, arrayFilter((_n, _x) -> _x = {p1:String}, `legs_bank_element`, `legs_bank`))))), length(`legs_element`)))))",
        ),
        (
            "legs has (bank is absent and fees has (kind is absent))",
            DuckDb,
            r#"(len(list_intersect(list_transform(coalesce(list_transform(list_filter(map_entries(list_histogram(list_concat("legs_fees_element", list_distinct("legs_fees_kind_element")))), lambda _e: _e.value = 1), lambda _e: _e.key), []), lambda _n: "legs_fees_element_1"[_n]), coalesce(list_transform(list_filter(map_entries(list_histogram(list_concat("legs_element", list_distinct("legs_bank_element")))), lambda _e: _e.value = 1), lambda _e: _e.key), []))) > 0)"#,
        ),
        // The numbers of a field below two arrays are those of the tested array.
        (
            "legs has (amount is present and fees.kind = a)",
            Spark,
            "(size(`legs_amount`) > 0 AND arrays_overlap(`legs_fees_kind`, ?) AND size(array_intersect(`legs_amount_element`, array_compact(zip_with(`legs_fees_kind_element_1`, `legs_fees_kind`, (_n, _x) -> IF(_x = ?, _n, NULL))))) > 0)",
        ),
        (
            "legs has (bank = a or bank is absent)",
            Postgres,
            r#"(EXISTS ((SELECT _n FROM unnest("legs_bank_element", "legs_bank") AS _value (_n, _x) WHERE _x = $1::text) UNION ((SELECT _n FROM unnest("legs_element") AS _element (_n)) EXCEPT (SELECT _n FROM unnest("legs_bank_element") AS _element (_n)))))"#,
        ),
    ] {
        assert_eq!(count_legs(dialect, text), wanted, "{text}");
    }
    let any = "legs has (bank = x or bank <> x)";
    assert_eq!(count_legs(Dialect::ClickHouse, any), "(notEmpty(`legs_element`))");
    // PostgreSQL cannot store U+0000.
    let nothing = r#"{"criteria":[{"op":"$elem","field":"legs","children":[{"field":"legs.bank","op":"=","values":["\u0000"]},{"field":"legs.amount","op":"=","values":["1"]}]}]}"#;
    let filter = Filter::compile(&legs().extended(), nothing.as_bytes()).unwrap();
    let table = Table::new(&legs()).with_elements();
    assert!(table.count(Dialect::Postgres, &filter).unwrap().to_sql().ends_with(" WHERE FALSE"));
    // An element needs both booleans, not just one of them.
    let flags = Catalog::new([Field::new("legs[].flags[]", FieldType::Boolean)]).unwrap();
    let both = Filter::compile_text(&flags, "legs has (flags all (true, false))").unwrap();
    let both = Table::new(&flags).with_elements().count(Dialect::Postgres, &both).unwrap();
    assert!(both.to_sql().contains(" INTERSECT "), "{}", both.to_sql());
    // Many values of one element are counted.
    let values: Vec<String> = (0..9).map(|number| format!("m{number}")).collect();
    let all = format!("legs has (marks all ({}) and amount = 1)", values.join(", "));
    let all = count_legs(Dialect::Postgres, &all);
    assert!(all.contains("_x = ANY ($4::text[]) GROUP BY _n HAVING count(DISTINCT _x) = 9)"), "{all}");
    // The nesting does not grow with the number of criteria.
    let many: Vec<String> =
        (0..512).map(|number| format!("(bank = b{number} and amount = {number})")).collect();
    let many = count_legs(Dialect::Spark, &format!("legs has ({})", many.join(" or ")));
    assert!(
        !many.contains("concat(concat(concat(concat(concat(concat(concat(concat(concat(concat("),
        "{many}"
    );
}

#[test]
fn elements_need_element_columns() {
    for (text, array, names) in [
        ("legs has (bank = a and amount = 1)", "legs", &[][..]),
        ("n = 1 or not legs has (bank is absent)", "legs", &["legs.fees"]),
        ("legs has (fees has (kind = a and cost = 1) and amount = 1)", "legs.fees", &["legs"]),
    ] {
        let filter = Filter::compile_text(&legs(), text).unwrap();
        let table = Table::new(&legs()).with_elements_of(names.iter().copied()).unwrap();
        for dialect in Dialect::ALL {
            let error = table.count(dialect, &filter).unwrap_err();
            assert_eq!((error.kind, error.path.as_str()), (ErrorKind::NotInSql, array), "{text}");
            assert_eq!(
                error.to_string(),
                format!(
                    "{array}: found `$elem` on an array without element columns in the table, expected a table and an export with \
                     element columns: `--elements` of `casefilter export`, `ddl` and `sql`, or `Table::with_elements`"
                )
            );
            tokens::check(&table.clone().with_elements().count(dialect, &filter).unwrap());
        }
    }
    let error = Table::new(&legs()).with_elements_of(["legz"]).unwrap_err();
    assert_eq!(error.to_string(), "`legz` is not an array of objects; did you mean `legs`?");
    assert_eq!(
        Table::new(&legs()).with_elements_of(["n"]).unwrap_err().to_string(),
        "`n` is not an array of objects"
    );
    // Other filters do not change with element columns.
    let plain = Filter::compile_text(&legs(), "legs.bank = a and not n > 5").unwrap();
    for dialect in Dialect::ALL {
        let table = Table::new(&legs());
        assert_eq!(table.count(dialect, &plain), table.clone().with_elements().count(dialect, &plain));
    }
}

#[test]
fn element_columns_number_the_elements_of_a_document() {
    let table = Table::new(&legs()).with_elements().with_folded_fields(["legs.bank"]).unwrap();
    let names: Vec<&str> = table.columns().iter().map(casefilter::sql::Column::name).collect();
    assert_eq!(
        names,
        [
            "place",
            "id",
            "legs_bank",
            "legs_amount",
            "legs_marks",
            "legs_fees_kind",
            "legs_fees_cost",
            "n",
            "document",
            "legs_bank_folded",
            "legs_element",
            "legs_bank_element",
            "legs_amount_element",
            "legs_marks_element",
            "legs_fees_kind_element_1",
            "legs_fees_cost_element_1",
            "legs_fees_element",
            "legs_fees_element_1",
            "legs_fees_kind_element",
            "legs_fees_cost_element",
        ]
    );
    let value = |document: &str, name: &str| {
        let at = names.iter().position(|other| *other == name).unwrap();
        format!("{:?}", table.row(0, document).unwrap()[at])
    };
    let document = r#"{"id":"1","legs":[{"fees":[{"cost":5},{"kind":"k"}]},null,{"bank":"x","marks":["a","a","b"],"fees":[{"cost":7,"kind":"l"}]},{}]}"#;
    for (name, wanted) in [
        ("legs_element", "[1, 2, 3, 4]"),
        ("legs_bank_element", "[3]"),
        ("legs_amount_element", "[]"),
        ("legs_marks_element", "[3, 3, 3]"),
        ("legs_fees_element", "[1, 2, 3]"),
        ("legs_fees_element_1", "[1, 1, 3]"),
        ("legs_fees_kind_element", "[2, 3]"),
        ("legs_fees_kind_element_1", "[1, 3]"),
        ("legs_fees_cost_element", "[1, 3]"),
    ] {
        assert_eq!(value(document, name), format!("Integers({wanted})"), "{name}");
    }
    for document in [r#"{"id":"1"}"#, r#"{"id":"1","legs":null}"#, r#"{"id":"1","legs":[]}"#] {
        assert_eq!(value(document, "legs_element"), "Integers([])");
    }
    // The order of the calls has no effect, and an allow-list does not change the names.
    let other = Table::new(&legs())
        .with_folded_fields(["legs.bank"])
        .unwrap()
        .with_elements_of(["legs.fees", "legs"])
        .unwrap();
    assert_eq!(other.columns(), table.columns());
    let narrow = Table::new(&legs().allow(["legs.fees.cost"]).unwrap()).with_elements();
    assert!(narrow.columns().iter().all(|column| names.contains(&column.name())));
    for dialect in Dialect::ALL {
        let script = table.script(dialect, "a");
        assert!(script.contains("--folded=legs.bank --elements"), "{script}");
        assert!(!script.contains("INDEX ON \"cases\" USING gin (\"legs_element\")"), "{script}");
        let some = Table::new(&legs()).with_elements_of(["legs"]).unwrap().script(dialect, "a");
        assert!(some.contains(" --elements=legs "), "{some}");
        let kind = match dialect {
            Dialect::Postgres => r#""legs_bank_element" bigint[] NOT NULL"#,
            Dialect::DuckDb => r#""legs_bank_element" BIGINT[] NOT NULL"#,
            Dialect::ClickHouse => "`legs_bank_element` Array(Int64)",
            Dialect::Spark => "`legs_bank_element` ARRAY<BIGINT>",
            _ => panic!("no test of {dialect}"),
        };
        assert!(script.contains(kind), "{script}");
    }
}
