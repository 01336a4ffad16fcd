use super::*;

fn pod() -> PodName {
    "shop/cart".parse().unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_context_that_does_not_exist_is_answered_with_those_that_do() {
    let there = names(&["prod-eu", "prod-us"]);
    let text = Refused::NoContext { wanted: Some("prd-eu".to_owned()), there: there.clone() }.to_string();
    assert_eq!(
        text,
        "the kubeconfig has no context `prd-eu`; it has `prod-eu`, `prod-us`; did you mean `prod-eu`?"
    );
    let text = Refused::NoContext { wanted: None, there }.to_string();
    assert!(text.contains("--kube-context") && text.contains("`prod-us`"), "{text}");
    let text = Refused::NoContext { wanted: None, there: Vec::new() }.to_string();
    assert!(text.contains("KUBECONFIG"), "{text}");
    let many = (0..20).map(|number| format!("c{number}")).collect();
    let text = Refused::NoContext { wanted: None, there: many }.to_string();
    assert!(text.contains("`c11` and 8 more") && !text.contains("`c12`"), "{text}");
}

#[test]
fn a_forbidden_request_names_the_right_and_the_rule_that_grants_it() {
    let said = "pods \"cart\" is forbidden: User \"alice\" cannot get resource \"pods/portforward\" in API group \"\" in the namespace \
                \"shop\"";
    let refused = |request, said: &str| {
        let (context, said) = ("prod".to_owned(), said.to_owned());
        Refused::Forbidden { context, pod: pod(), request, said }.to_string()
    };
    let text = refused(Request::Forward, said);
    assert!(text.starts_with("`alice` may not `get` `pods/portforward` in namespace `shop`"), "{text}");
    assert!(text.ends_with(&format!("\n\n{}", rule(&pod(), Some("alice")))), "{text}");
    assert!(text.contains("`kubectl --context prod -n shop apply -f rule.yaml`"), "{text}");
    let other = refused(Request::Read, "no");
    assert!(other.starts_with("the user of the kubeconfig may not `get` `pods` in"), "{other}");
}

#[test]
fn a_right_that_agents_lack_is_named_with_its_rule_and_a_quota_is_no_right() {
    let of = |said: &str| {
        let (context, namespace) = ("c".to_owned(), "perf".parse().unwrap());
        Refused::ForbiddenAgents { context, namespace, doing: "make a Job", said: said.to_owned() }
            .to_string()
    };
    let text = of("User \"alice\" cannot create resource \"secrets\" in API group \"\"");
    assert!(
        text.starts_with("`alice` may not `create` `secrets` in namespace `perf`, which agents"),
        "{text}"
    );
    let rule = rule_of_agents(&"perf".parse().unwrap(), Some("alice"));
    assert!(text.ends_with(&format!("\n\n{rule}")), "{text}");
    assert!(text.contains("`kubectl --context c -n perf apply -f rule.yaml`"), "{text}");
    let text = of("jobs.batch \"a\" is forbidden: exceeded quota: q");
    assert!(text.contains("`c` does not make a Job in namespace `perf`: jobs.batch"), "{text}");
    assert!(!text.contains("kubectl apply"), "{text}");
}

#[test]
fn a_missing_right_to_make_an_object_of_a_template_is_in_the_rule_with_all_others() {
    let of = |resource: &str| GroupResource {
        group: "security.istio.io".to_owned(),
        resource: resource.to_owned(),
    };
    let text = |verb: &str, made: Vec<GroupResource>| {
        let said = format!(
            "User \"alice\" cannot {verb} resource \"authorizationpolicies\" in API group \"security.istio.io\" in the namespace \"a\""
        );
        let (context, doing) = ("prod".to_owned(), "make AuthorizationPolicy `origin`".to_owned());
        Refused::ForbiddenMesh { context, doing, said, made }.to_string()
    };
    let rule = |resource: &str| {
        format!("- {{apiGroups: [security.istio.io], resources: [{resource}], verbs: [create]}}\n")
    };
    // The name in the message is certain, whatever was thought before.
    let both = text("create", vec![of("peerauthentications")]);
    assert!(both.contains(&rule("authorizationpolicies")), "{both}");
    assert!(both.contains(&rule("peerauthentications")), "{both}");
    let twice = text("create", vec![of("authorizationpolicies")]);
    assert_eq!(twice.matches(&rule("authorizationpolicies")).count(), 1, "{twice}");
    let none = text("list", Vec::new());
    assert!(!none.contains("apiGroups: [security.istio.io]"), "{none}");
}

#[test]
fn a_pod_that_does_not_exist_is_answered_with_those_of_the_workload_or_similar_ones() {
    let of = |there: &[&str]| {
        Refused::NoPod { context: "c".to_owned(), pod: pod(), there: names(there) }.to_string()
    };
    let text = of(&["cart-7d9f4-x2", "cart-7d9f4-y1", "web-1"]);
    assert!(text.contains("did you mean one of `cart-7d9f4-x2`, `cart-7d9f4-y1`?"), "{text}");
    assert!(of(&["card", "web"]).contains("did you mean `card`?"));
    let text = of(&["web"]);
    assert!(!text.contains("did you mean") && text.contains("-n shop get pods"), "{text}");
    assert!(of(&[]).contains("you may not list them"));
}

#[test]
fn a_proxy_without_a_dump_is_named_with_its_port_and_where_it_is_from() {
    let admin = |container: Option<&str>| Admin {
        container: container.map(str::to_owned),
        port: 15000,
        source: "the usual port of `istio-proxy`".to_owned(),
    };
    let of = |container| {
        let (context, admin, why) = ("prod".to_owned(), Box::new(admin(container)), "refused".to_owned());
        Refused::NoDump { context, pod: pod(), admin, why }.to_string()
    };
    let text = of(Some("istio-proxy"));
    let expected = "container `istio-proxy` of pod `shop/cart` gives no dump at port 15000 (the usual port of `istio-proxy`): refused";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("`kubectl --context prod -n shop port-forward cart 15000 &"), "{text}");
    assert!(of(None).starts_with("pod `shop/cart` gives no dump"));
}

#[test]
fn a_request_that_is_refused_otherwise_is_named_with_the_answer_and_the_same_request_of_kubectl() {
    let of = |request| {
        let (context, said) = ("c".to_owned(), "503 busy".to_owned());
        Refused::Api { context, pod: pod(), request, said }.to_string()
    };
    let text = of(Request::Read);
    assert!(text.contains("of context `c` does not show pod `shop/cart`: 503 busy"), "{text}");
    assert!(text.contains("`kubectl --context c -n shop get pod cart`"), "{text}");
    assert!(of(Request::Forward).contains("does not forward a port of pod `shop/cart`"));
    assert!(of(Request::Forward).contains("-n shop port-forward cart :15000`"));
}

#[test]
fn errors_that_another_command_line_mends_are_of_the_input() {
    let namespace = |there: &[&str]| Refused::NoNamespace {
        context: "c".to_owned(),
        wanted: "shpo".to_owned(),
        there: names(there),
    };
    assert!(namespace(&[]).is_of_input());
    assert!(namespace(&["shop"]).to_string().contains("did you mean `shop`?"));
    let unbuilt =
        |context: Option<&str>| Refused::NotBuilt { context: context.map(str::to_owned), pod: pod() };
    assert!(!unbuilt(None).is_of_input());
    let text = unbuilt(None).to_string();
    assert!(text.contains("--features cluster"), "{text}");
    assert!(text.contains("`kubectl -n shop port-forward cart 15000 &"), "{text}");
    let text = unbuilt(Some("prod")).to_string();
    assert!(text.contains("`kubectl --context prod -n shop port-forward cart 15000 &"), "{text}");
}

#[test]
fn a_kubeconfig_that_cannot_be_read_is_named_with_what_to_do() {
    let (path, why) = ("/home/alice/.kube/config".to_owned(), "there is no such file".to_owned());
    let refused = Refused::NoKubeconfig { path, why };
    assert!(!refused.is_of_input());
    let expected = "cannot read the kubeconfig `/home/alice/.kube/config`: there is no such file; set KUBECONFIG to your \
                    kubeconfig, or work without a cluster: price a saved dump, name agents with --agents, or read what --dry-run prints";
    assert_eq!(refused.to_string(), expected);
    let machine = Refused::Machine { why: "too many open files".to_owned() }.to_string();
    assert!(machine.contains("too many open files; check whether `ulimit -n`"), "{machine}");
}
