//! Tests of templates, and of those that come with the program.

use hoptax_cluster::job::document;
use serde_json::json;

use super::*;

#[test]
fn every_template_of_the_program_is_one_and_has_its_name() {
    for (name, text) in BUILT_IN {
        let template = Template::read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(template.name, name);
        assert!(!template.summary.is_empty() && text.starts_with("# Source: https://"), "{name}");
    }
}

#[test]
fn a_template_without_proxies_or_with_another_name_is_refused() {
    for (text, expected) in [
        ("name: a\nurl: http://a/\n", "names no proxies"),
        ("name: A b\nurl: http://a/\norigin: {proxies: [x]}\n", "`A b`"),
        ("name: a\nurl: http://a/\nproxy: x\n", "proxy"),
        ("name: a\norigin: {proxies: [x]}\n", "url"),
        ("name: a\nextends: itsio\n", "`extends` is `itsio`, but must be istio, "),
        ("name: a\nextends: istio\nproof: {path: x, expect: status=403}\n", "must begin with `/`"),
        ("name: a\nextends: istio\nproof: {path: /x, expect: status=4}\n", "`expect` of `proof`: "),
        (
            "name: a\nextends: istio\nobjects: [{apiVersion: v1, kind: Namespace, metadata: {name: b}}]\n",
            "the Namespace `b` is of a kind that may have an effect outside the namespace of its arm",
        ),
    ] {
        let error = Template::read(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn no_template_aims_a_load_outside_of_the_cluster() {
    let read = |url: &str| {
        let text = format!("name: a\nurl: \"{url}\"\norigin: {{proxies: [x]}}\n");
        Template::read(&text)
    };
    for url in [
        "http://{{ address }}:10000/a",
        "http://origin",
        "http://origin.{{ namespace }}/",
        "http://gateway.istio-system.svc:80/",
        "http://gateway.istio-system.svc.cluster.local/",
    ] {
        assert!(read(url).is_ok(), "{url}: {:?}", read(url));
    }
    for url in [
        "https://origin/",
        "http://victim.example/",
        "http://a.b.svc.victim.example/",
        "http://origin.other:8080/",
        "http://203.0.113.1/",
        "http://origin@victim.example/",
        "http://origin:80@victim.example/",
        "http://origin#.victim.example/",
        "http://{{ address }}.victim.example/",
    ] {
        assert!(read(url).unwrap_err().contains("no load may leave the cluster"), "{url}");
    }
}

#[test]
fn a_request_names_the_address_and_the_namespace_of_the_origin() {
    let template = Template {
        url: "http://{{ address }}:8080/a".to_owned(),
        headers: [("host".to_owned(), "origin.{{ namespace }}".to_owned())].into(),
        ..Template::default()
    };
    let (url, headers) = template.request("10.0.0.1", "ns");
    assert_eq!(url, "http://10.0.0.1:8080/a");
    assert_eq!(headers, [("host".to_owned(), "origin.ns".to_owned())]);
}

/// A template that comes with the program.
fn of_program(name: &str) -> Template {
    Template::read(built_in(name).unwrap()).unwrap()
}

/// The object of a kind of a template.
fn object<'a>(template: &'a Template, kind: &str) -> &'a Value {
    template.objects.iter().find(|object| object["kind"] == kind).unwrap()
}

#[test]
fn a_function_has_what_its_mesh_has_and_no_more_than_its_file_says() {
    for (name, _) in BUILT_IN {
        let function = of_program(name);
        let bases = function.bases();
        let Some(base) = bases.first() else { continue };
        assert!(name.starts_with(&format!("{}-", bases.last().unwrap())), "{name}");
        let mesh = of_program(base);
        assert_eq!((&function.url, &function.namespace), (&mesh.url, &mesh.namespace), "{name}");
        assert_eq!(function.origin.proxies, mesh.origin.proxies, "{name}");
        assert_eq!(function.caller.proxies, mesh.caller.proxies, "{name}");
        assert_eq!(function.objects.get(..mesh.objects.len()), Some(mesh.objects.as_slice()), "{name}");
        assert!(function.objects.len() > mesh.objects.len(), "{name}");
    }
    assert_eq!(of_program("consul-retries").bases(), ["consul-http", "consul"]);
    assert!(of_program("istio").bases().is_empty());
}

#[test]
fn a_template_of_a_user_extends_one_of_the_program() {
    let text = "name: own\nextends: istio-authorization-1\nheaders: {a: b}\norigin: {labels: {c: d}}\n";
    let own = Template::read(text).unwrap();
    assert_eq!(own.bases(), ["istio-authorization-1", "istio"]);
    assert_eq!((own.url.as_str(), own.name.as_str()), ("http://origin:8080/", "own"));
    assert_eq!((own.headers["a"].as_str(), own.origin.labels["c"].as_str()), ("b", "d"));
    assert_eq!(own.origin.proxies, ["istio-proxy"]);
    assert_eq!(own.proof, of_program("istio-authorization-1").proof);
}

#[test]
fn a_policy_of_a_hundred_rules_has_a_hundred_and_one_of_the_last_permits_the_request() {
    let template = of_program("istio-authorization-100");
    let rules = object(&template, "AuthorizationPolicy")["spec"]["rules"].as_array().unwrap().clone();
    let paths: Vec<&Value> = rules.iter().map(|rule| &rule["to"][0]["operation"]["paths"]).collect();
    assert_eq!(paths.len(), 100);
    assert_eq!([paths[0], paths[98], paths[99]], [&json!(["/path-00"]), &json!(["/path-98"]), &json!(["/"])]);
    // Envoy looks at them in the order of their names as texts.
    let mut names: Vec<String> = (0..rules.len()).map(|rule| format!("rule[{rule}]")).collect();
    names.sort_unstable();
    assert_eq!(names[98..], ["rule[99]", "rule[9]"]);
    let template = of_program("consul-authorization-100");
    let source = object(&template, "ServiceIntentions")["spec"]["sources"][0].clone();
    let permissions = source["permissions"].as_array().unwrap();
    let refused = permissions.iter().filter(|one| one["action"] == "deny").count();
    assert_eq!((permissions.len(), refused), (101, 100));
    assert_eq!(permissions[99]["http"]["pathExact"], template.proof.unwrap().path);
    assert_eq!(permissions[100], json!({"action": "allow", "http": {"pathPrefix": "/"}}));
}

/// The templates that the guide shows.
fn of_guide() -> Vec<Template> {
    let guide = include_str!("../../../../docs/guide/mesh.md");
    let mut blocks: Vec<String> = vec![String::new()];
    for line in guide.lines() {
        if let Some(text) = line.strip_prefix("    ") {
            blocks.last_mut().unwrap().push_str(&format!("{text}\n"));
        } else {
            blocks.push(String::new());
        }
    }
    let templates = blocks.iter().filter(|block| block.starts_with("name: "));
    templates.map(|text| Template::read(text).unwrap_or_else(|error| panic!("{text}: {error}"))).collect()
}

#[test]
fn templates_of_the_guide_are_templates() {
    let all = of_guide();
    let [own, istio] = all.as_slice() else { panic!("{all:#?}") };
    assert_eq!(object(own, "AuthorizationPolicy")["spec"]["rules"].as_array().unwrap().len(), 21);
    assert_eq!(*istio, of_program("istio"));
}

/// The guide says so of tokens.
#[test]
fn no_pods_but_those_of_consul_have_a_token_of_the_cluster() {
    for (name, _) in BUILT_IN {
        let template = of_program(name);
        let is_consul = name == "consul" || template.bases().iter().any(|base| base == "consul");
        for side in [&template.origin, &template.caller] {
            let mounts = side.spec.get("automountServiceAccountToken").and_then(Value::as_bool);
            assert_eq!(mounts, is_consul.then_some(true), "{name}");
            assert!(!side.spec.contains_key("volumes"), "{name}");
        }
    }
}

#[test]
fn a_proof_is_asked_for_at_the_host_of_the_requests_with_their_headers_but_its_own() {
    let proof = "{path: /refused?a=b, headers: {X-Token: none}, expect: status=403}";
    let template = Template::read(&format!("name: a\nextends: istio\nproof: {proof}\n")).unwrap();
    let proof = template.proof.unwrap();
    for url in ["http://origin:8080", "http://origin:8080/", "http://origin:8080/a?b=/c"] {
        assert_eq!(proof.url(url), "http://origin:8080/refused?a=b");
    }
    assert_eq!(proof.expectation().unwrap().statuses, [403]);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let of_requests = [header("accept", "a"), header("x-token", "valid")];
    assert_eq!(proof.headers(&of_requests), [header("accept", "a"), header("X-Token", "none")]);
    assert_eq!(Proof::default().headers(&of_requests), of_requests);
}

#[test]
fn the_namespace_and_the_image_are_put_in_their_places_and_the_address_stays() {
    let filled = of_program("istio-tracing").filled("ns", "a/b:1").unwrap();
    assert_eq!(filled.origin.spec["containers"][0]["image"], "a/b:1");
    let tracing = &filled.caller.annotations["proxy.istio.io/config"];
    assert!(tracing.contains("\"collector.ns:9411\""), "{tracing}");
    let consul = of_program("consul").filled("ns", "a/b:1").unwrap();
    assert_eq!(consul.url, "http://ns-origin:8080/");
    assert_eq!(consul.objects[0]["metadata"]["name"], "ns-origin");
    let at_address = Template { url: "http://{{ address }}/".to_owned(), ..Template::default() };
    assert_eq!(at_address.filled("ns", "a/b:1").unwrap(), at_address);
}

#[test]
fn the_manifests_of_each_function() {
    for (name, _) in BUILT_IN.into_iter().filter(|(name, _)| !of_program(name).bases().is_empty()) {
        let function = of_program(name).filled("NAMESPACE", "IMAGE").unwrap();
        let base = of_program(&function.bases()[0]);
        let mut shown: String = function.objects.iter().skip(base.objects.len()).map(document).collect();
        for (side, of_base, what) in
            [(&function.origin, &base.origin, "origin"), (&function.caller, &base.caller, "caller")]
        {
            if side != of_base {
                let side = json!({"annotations": side.annotations, "spec": side.spec});
                shown.push_str(&document(&json!({ what: side })));
            }
        }
        insta::assert_snapshot!(name, shown);
    }
}
