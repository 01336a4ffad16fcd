//! Untrusted pods, messages of API servers, metrics of kubelets and answers of a Prometheus: a pod gives an admin interface or a reason,
//! and the name of a user cannot break a line of a rule.
#![cfg_attr(feature = "run", no_main)]

use hoptax_cluster::prometheus::{self, Address};
use hoptax_cluster::rights::{Missing, Request, rule};
use hoptax_cluster::usage::readings;
use hoptax_cluster::{Pod, PodName, dump_of};
use hoptax_fuzz::fuzz_target;

fuzz_target!(|input: (&str, &str)| {
    let (text, message) = input;
    let _ = message.parse::<PodName>();
    let _ = dump_of(200, text.as_bytes().to_vec());
    assert!(readings(text).keys().all(|container| !container.pod.is_empty()));
    if let Ok(found) = prometheus::readings(200, text.as_bytes()) {
        assert!(found.values().all(|reading| reading.cpu_s.is_finite()));
    }
    if let Ok(address) = message.parse::<Address>() {
        assert_eq!(address.to_string().parse::<Address>(), Ok(address));
    }
    let Ok(name) = "shop/cart".parse::<PodName>() else { return };
    let missing = Missing::from_message(message, Request::Read);
    let lines = |user| rule(&name, user).lines().count();
    assert_eq!(lines(missing.user.as_deref()), lines(None));
    assert_eq!(lines(Some(message)), lines(None));
    let Ok(pod) = serde_json::from_str::<Pod>(text) else { return };
    let _ = pod.check_running(message, &name, Some(message)).map_err(|refused| refused.to_string());
    match pod.admin(&name, None, None) {
        Ok(admin) => assert!(admin.port > 0),
        Err(refused) => assert!(!refused.to_string().is_empty()),
    }
});
