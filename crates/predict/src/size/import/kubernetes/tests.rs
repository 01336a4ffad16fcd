use super::*;

const SHOP: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: front, namespace: shop}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: front}}
    spec:
      containers:
        - name: server
          env:
            - {name: CART_ADDR, value: "cart-service:7070"}
            - {name: STOCK_URL, value: "http://stock.shop.svc.cluster.local/v1"}
            - {name: THEME, value: cart-service}
---
---
apiVersion: v1
kind: Service
metadata: {name: front, namespace: shop}
spec: {type: LoadBalancer, selector: {app: front}, ports: [{name: http, port: 80}]}
"#;

const MORE: &str = r#"
kind: List
items:
  - kind: Deployment
    metadata: {name: cart, namespace: shop}
    spec:
      template:
        metadata: {labels: {app: cart, tier: "1"}}
        spec: {containers: [{name: server, args: ["--db=redis:6379"]}]}
  - {kind: Service, metadata: {name: cart-service, namespace: shop}, spec: {selector: {app: cart}, ports: [{name: grpc-api, port: 7070}]}}
  - kind: StatefulSet
    metadata: {name: redis, namespace: shop}
    spec:
      replicas: 2
      template: {metadata: {labels: {app: redis}, annotations: {sidecar.istio.io/inject: "false"}}}
  - {kind: Service, metadata: {name: redis, namespace: shop}, spec: {selector: {app: redis}, ports: [{name: tcp-redis, port: 6379}]}}
  - {kind: Deployment, metadata: {name: stock, namespace: shop}, spec: {template: {metadata: {labels: {app: stock}}}}}
  - {kind: Service, metadata: {name: stock, namespace: shop}, spec: {selector: {app: stock}, ports: [{port: 80}]}}
  - {kind: Service, metadata: {name: gone, namespace: shop}, spec: {selector: {app: gone}}}
  - kind: Deployment
    metadata: {name: generator, namespace: shop}
    spec:
      template:
        metadata: {labels: {app: generator}}
        spec: {containers: [{name: main, env: [{name: TARGET, value: "front:80"}]}]}
  - {kind: ConfigMap, metadata: {name: settings}}
"#;

fn files(texts: &[&str]) -> Vec<ManifestFile> {
    let file = |(number, text): (usize, &&str)| ManifestFile {
        name: format!("{number}.yaml"),
        text: (*text).to_owned(),
    };
    texts.iter().enumerate().map(file).collect()
}

#[test]
fn manifests_become_a_graph() {
    let imported = read("shop", &files(&[SHOP, MORE]), None).unwrap();
    insta::assert_snapshot!(imported.to_yaml());
    let catalogue = hoptax_functions::Catalogue::load().unwrap();
    assert!(crate::size::graph::read("shop.yaml", &imported.to_yaml(), catalogue).is_ok());
}

#[test]
fn the_entry_can_be_given_and_must_be_clear() {
    let imported = read("shop", &files(&[SHOP, MORE]), Some("generator")).unwrap();
    assert_eq!(imported.graph.entry, "generator");
    assert_eq!(imported.graph.services.len(), 5);
    let unknown = read("shop", &files(&[SHOP, MORE]), Some("fornt")).unwrap_err().to_string();
    assert!(unknown.contains("did you mean `front`?"), "{unknown}");
    let unclear = read("shop", &files(&[&MORE.replace("front:80", "nothing:80")]), None).unwrap_err();
    assert!(unclear.to_string().contains("--entry, for example `cart`"), "{unclear}");
}

#[test]
fn labels_of_each_mesh_are_understood_and_pods_overrule_namespaces() {
    let of = |text: &str| {
        let node: Placed = serde_saphyr::from_str(text).unwrap();
        injection(Some(&node))
    };
    for (text, expected) in [
        ("labels: {sidecar.istio.io/inject: 'true'}", Some(true)),
        ("labels: {sidecar.istio.io/inject: 'false'}", Some(false)),
        ("labels: {sidecar.istio.io/inject: 'yes'}", Some(true)),
        ("annotations: {sidecar.istio.io/inject: 'On'}", Some(true)),
        ("annotations: {sidecar.istio.io/inject: 'no'}", Some(false)),
        ("labels: {istio-injection: disabled}", Some(false)),
        ("labels: {istio.io/rev: stable}", Some(true)),
        ("annotations: {linkerd.io/inject: disabled}", Some(false)),
        ("annotations: {linkerd.io/inject: enabled}", Some(true)),
        ("annotations: {linkerd.io/inject: ingress}", Some(true)),
        ("annotations: {consul.hashicorp.com/connect-inject: true}", Some(true)),
        ("labels: {kuma.io/sidecar-injection: enabled}", Some(true)),
        ("labels: {kuma.io/sidecar-injection: 'yes'}", Some(true)),
        ("labels: {kuma.io/sidecar-injection: disabled}", Some(false)),
        ("labels: {app: cart}", None),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
    let off = SHOP.replace("labels: {app: front}", "labels: {app: front, sidecar.istio.io/inject: 'false'}");
    let imported = read("shop", &files(&[&off, MORE]), None).unwrap();
    assert!(!imported.graph.services[0].proxy);
    assert!(imported.notes.iter().any(|note| note.contains("into `front`, `redis`")), "{imported:?}");
}

#[test]
fn a_list_of_the_api_gives_its_items_their_kind() {
    let text = "
apiVersion: apps/v1
kind: DeploymentList
items:
- metadata: {name: a}
  spec: {template: {metadata: {labels: {app: a}}}}
";
    let imported = read("shop", &files(&[text]), None).unwrap();
    assert_eq!(imported.graph.services[0].name, "a");
}

#[test]
fn values_that_a_chart_has_yet_to_fill_in_are_named_with_the_command() {
    for (text, line) in [
        ("kind: Deployment\nmetadata: {name: \"{{ .Values.name }}\"}\nspec: {template: {}}\n", 2),
        ("kind: Deployment\nmetadata: {name: a}\nspec: {replicas: '{{ .Values.n }}', template: {}}\n", 3),
        ("kind: Deployment\nmetadata:\n  name: {{ include \"x.fullname\" . }}\n", 3),
    ] {
        let found = read("shop", &files(&[text]), None).unwrap_err().to_string();
        assert!(found.starts_with(&format!("0.yaml:{line}")), "{found}");
        assert!(found.contains("helm template CHART"), "{found}");
    }
}

#[test]
fn workloads_that_call_each_other_are_named() {
    let text = SHOP.replace("THEME, value: cart-service", "LOOP, value: 'http://generator'");
    let generator =
        "kind: Service\nmetadata: {name: generator, namespace: shop}\nspec: {selector: {app: generator}}\n";
    let found = read("shop", &files(&[&text, MORE, generator]), None).unwrap_err().to_string();
    assert!(found.contains("`front`, `generator` call each other in a circle"), "{found}");
}

#[test]
fn the_problems_of_all_files_are_reported_together() {
    let found = read(
        "shop",
        &files(&[
            "kind: Deployment\nmetadata: {name: a}\n",
            "kind: Service\n---\n{{ include \"x\" }}: [\n",
            "kind: Deployment\nmetadata: {name: b}\nspec: {replicas: 0, template: {}}\n---\nspec: {}\n",
        ]),
        None,
    )
    .unwrap_err()
    .to_string();
    for expected in [
        "0.yaml:1:1: workload `a` has no `spec",
        "1.yaml:",
        "looks like a template (`{{` in line 3): render it first, `helm template CHART > rendered.yaml`",
        "2.yaml:3:",
        "`replicas` must be a whole number",
        "an object needs a `kind`",
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
    let none = read("shop", &files(&["kind: ConfigMap\nmetadata: {name: a}\n"]), None).unwrap_err();
    assert!(none.to_string().contains("no Deployment"), "{none}");
    let twice = MORE.replace(
        "name: stock, namespace: shop}, spec: {template",
        "name: cart, namespace: x}, spec: {template",
    );
    let twice = read("shop", &files(&[SHOP, &twice]), None).unwrap_err();
    assert!(twice.to_string().contains("two workloads have the name `cart`"), "{twice}");
}
