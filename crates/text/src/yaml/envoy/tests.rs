use serde_json::json;

use super::*;

fn value(text: &str) -> Value {
    first(text).unwrap().to_value()
}

#[test]
fn ignored_keys_are_left_out_and_their_anchors_stay() {
    let text = "!ignore shared:\n- &a {x: 1}\n!<!ignore> b: 1\n? !ignore c\n: 2\n!ignore 'd': 3\n!ignore [e]: 4\nused: *a\n";
    assert_eq!(value(text), json!({"used": {"x": 1}}));
    assert_eq!(value("!ignored a: 1\n!!ignore b: 2\nc: !ignore 3\n"), json!({"a": 1, "b": 2, "c": 3}));
    assert_eq!(value("!ignore a: &k !ignore node\n*k : 1\nnode: 2\n"), json!({"node": 2}));
}

#[test]
fn merge_keys_are_keys_and_the_last_of_equal_keys_counts() {
    assert_eq!(value("a: &a {x: 1}\nb: {<<: *a, y: 2}\n")["b"], json!({"<<": {"x": 1}, "y": 2}));
    assert_eq!(value("a: 1\na: 2\n~: 3\n5: 4\nyes: 5\n"), json!({"a": 2, "null": 3, "5": 4, "yes": 5}));
}

#[test]
fn the_first_document_counts_and_the_rest_is_not_even_parsed() {
    assert_eq!(value("a: 1\n---\n{{ x\n"), json!({"a": 1}));
    assert_eq!(value("---\n---\na: 1\n"), Value::Null);
    assert_eq!(value(""), Value::Null);
    assert_eq!(value("\u{feff}a: 1\n"), json!({"a": 1}));
    let all: Vec<Value> =
        documents("a: 1\n---\n# b\n---\nc: 2\n").map(|tree| tree.unwrap().to_value()).collect();
    assert_eq!(all, [json!({"a": 1}), Value::Null, json!({"c": 2})]);
}

#[test]
fn what_envoy_refuses_is_an_error_with_its_line() {
    for (text, line) in [
        ("a: 1\nb: *none\n", 2),
        ("a: 1\n? [b]\n: 2\n", 2),
        ("a:\n- b: c: d\n", 2),
        ("a: 1\nb: {c: &d {e: *d}}\n", 2),
        ("b: 1\na: [1\n", 2),
    ] {
        let error = first(text).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
    }
    let many = (1..30).fold("a0: &a0 [1, 2]\n".to_owned(), |text, number| {
        let before = number - 1;
        format!("{text}a{number}: &a{number} [*a{before}, *a{before}]\n")
    });
    assert!(first(&many).unwrap_err().message.contains("a million nodes"));
    // Each of these anchors keeps all nodes inside of it.
    let anchored = |depth: usize, nodes: usize| {
        let opened: String = (0..depth).map(|number| format!("&a{number} [")).collect();
        opened + &"1,".repeat(nodes) + &"]".repeat(depth)
    };
    assert!(first(&anchored(400, 5_100)).unwrap_err().message.contains("two million nodes"));
    assert!(first(&anchored(400, 4_000)).is_ok());
    assert!(first(&anchored(0, 0)).is_ok());
    let limited = |most| documents_up_to("a: 1\n---\nb: [2,\n*x]\n", most).last().unwrap();
    let limit = error(3, "more than five million nodes");
    assert_eq!((limited(5).unwrap_err(), limited(9).unwrap_err().line), (limit, 4));
    let nested = "[".repeat(100_000);
    assert!(first(&nested).is_err());
}

#[test]
fn aliases_stand_for_so_many_nodes_in_all_documents_together_and_a_long_text_is_several() {
    let is_refused = |text: &str| {
        let refused = documents(text).find_map(Result::err);
        refused.is_some_and(|error| error.message.contains("a million nodes"))
    };
    // 64 MB of texts are a million nodes, in values and in keys.
    let long = "x".repeat(640_000);
    let aliased = |first: &str, aliases: usize| format!("- &a {first}\n{}", "- *a\n".repeat(aliases));
    for first in [long.clone(), format!("\n  ? {long}\n  : 1")] {
        assert!(!is_refused(&aliased(&first, 20)));
        assert!(is_refused(&aliased(&first, 101)));
    }
    // Each of these documents stands for half a million nodes.
    let document = format!("---\n- &a [{}]\n{}", "1,".repeat(5_000), "- *a\n".repeat(100));
    assert!(!is_refused(&document));
    assert!(is_refused(&document.repeat(2)));
}

#[test]
fn aliases_lead_to_no_more_collections_inside_of_each_other_than_a_text_may_have() {
    let nested = |depth: usize, inner: &str| "[".repeat(depth) + inner + &"]".repeat(depth);
    let text = |first: usize, second: usize| {
        format!("a: &a {}\nb: &b {}\nc: *b\n", nested(first, "1"), nested(second, "*a"))
    };
    // The mapping around them is one, too.
    assert!(first(&text(250, 249)).is_ok());
    let refused = first(&text(250, 250)).unwrap_err();
    assert_eq!(refused.line, 2, "{refused}");
    assert!(refused.message.contains("500 nested collections"), "{refused}");
    let levels = (1..63).fold(format!("a0: &a0 {}\n", nested(400, "1")), |text, level| {
        let lists = nested(400, &format!("*a{}", level - 1));
        format!("{text}a{level}: &a{level} {lists}\n")
    });
    assert!(first(&levels).unwrap_err().message.contains("500 nested collections"));
}

/// The bytes of a tree, of its keys and of all that is in it.
fn all_bytes<'t>(tree: &'t Tree, found: &mut Vec<&'t Range<usize>>) {
    found.push(&tree.bytes);
    match &tree.node {
        Node::Scalar(..) => {}
        Node::Sequence(items) => items.iter().for_each(|item| all_bytes(item, found)),
        Node::Mapping(entries) => entries.iter().for_each(|(key, value)| {
            found.push(&key.bytes);
            all_bytes(value, found);
        }),
    }
}

#[test]
fn nodes_and_keys_have_their_bytes() {
    let text =
        "\u{feff}# é\na:\n- b: 'x' # c\n  d: {e: [1, 2], f: }\n- |\n  lines\n\n# end\ng: &k 5\nh: *k\n";
    let tree = first(text).unwrap();
    let of = |bytes: &Range<usize>| text.get(bytes.clone()).unwrap();
    let mut found = Vec::new();
    all_bytes(&tree, &mut found);
    let found: Vec<&str> = found.into_iter().map(|bytes| of(bytes).trim_end()).collect();
    let flow = "{e: [1, 2], f: }";
    let list = format!("b: 'x' # c\n  d: {flow}\n- |\n  lines");
    let all = text.trim_start_matches("\u{feff}# é\n").trim_end();
    let item = format!("b: 'x' # c\n  d: {flow}");
    let expected = [
        all, "a", &list, &item, "b", "'x'", "d", flow, "e", "[1, 2]", "1", "2", "f", "", "lines", "g", "5",
        "h", "*k",
    ];
    assert_eq!(found, expected);
}

#[test]
fn comments_are_not_what_looks_like_them_in_texts() {
    let text = "# one\na: '# no' # two\nb: |\n  # no\nc: x#no\n#three\n---\n";
    let expected = [(1, " one"), (2, " two"), (6, "three")].map(|(line, text)| (line, text.to_owned()));
    assert_eq!(comments(text), expected);
}

#[test]
fn nodes_have_their_lines() {
    let tree = first("a: 1\nb:\n  - c: |\n      x\n    d: >\n      y\n  - &e {f: 1}\n  - *e\n").unwrap();
    let Node::Mapping(entries) = &tree.node else { panic!("{tree:?}") };
    assert_eq!((tree.line, entries[1].0.line), (1, 2));
    let Node::Sequence(items) = &entries[1].1.node else { panic!("{tree:?}") };
    let lines: Vec<u64> = items.iter().map(|item| item.line).collect();
    assert_eq!(lines, [3, 7, 8]);
    let Node::Mapping(inner) = &items[0].node else { panic!("{tree:?}") };
    let of = |index: usize| match &inner[index].1 {
        Tree { line, node: Node::Scalar(_, style), .. } => (*line, *style),
        other => panic!("{other:?}"),
    };
    assert_eq!([of(0), of(1)], [(4, Style::Literal), (6, Style::Folded)]);
    for (text, line) in [("a: |\n\n\n  x\n", 2), ("a: |2- # c\n\n    x\n", 2), ("a:\n  >\n\n  x\n", 3)] {
        let Node::Mapping(entries) = first(text).unwrap().node else { panic!("{text}") };
        assert_eq!(entries[0].1.line, line, "the first line of the text may be empty: {text}");
    }
}
