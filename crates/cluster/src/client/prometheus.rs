//! Queries a Prometheus over a forwarded port of a pod of its service, or at its URL.

use std::collections::BTreeMap;

use tokio::net::TcpStream;

use super::requests::Cluster;
use super::{Question, ask, within};
use crate::described::Pod;
use crate::job::pods::List;
use crate::prometheus::{Address, any, has_series, of_namespaces, path, readings};
use crate::refused::Refused;
use crate::service::Service;
use crate::usage::{Container, Reading};

/// Maximum size of an answer, bytes. For a hundred containers, an answer has some hundred thousand.
const MOST_BYTES: usize = 32 << 20;

/// A Prometheus to query.
#[derive(Clone, Debug)]
pub struct Prometheus {
    address: Address,
    /// The pod of its service that answered last, and the port of the pod. It is queried again, because each pod has its own values.
    pod: Option<(String, u16)>,
}

impl Prometheus {
    /// The Prometheus at an address. Sends nothing.
    pub fn new(address: Address) -> Self {
        Self { address, pod: None }
    }

    /// Checks that it has CPU times of containers.
    ///
    /// # Errors
    /// When it has none or does not answer, or when the cluster refuses to forward to it.
    pub fn check(&mut self, cluster: &Cluster) -> Result<(), Refused> {
        let (status, body) = self.ask(cluster, &any())?;
        match has_series(status, &body) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.refused(
                "it has no `container_cpu_usage_seconds_total` with labels `container` and `pod`: check that it scrapes the kubelets at \
                 `/metrics/cadvisor`, with `honor_labels: true`",
            )),
            Err(why) => Err(self.refused(&why)),
        }
    }

    /// The latest readings of the containers in these namespaces.
    ///
    /// # Errors
    /// When it does not answer, or the cluster refuses the way to it.
    pub fn readings<'a>(
        &mut self,
        cluster: &Cluster,
        namespaces: impl IntoIterator<Item = &'a str>,
    ) -> Result<BTreeMap<Container, Reading>, Refused> {
        let (status, body) = self.ask(cluster, &of_namespaces(namespaces))?;
        readings(status, &body).map_err(|why| self.refused(&why))
    }

    /// Sends a query. Returns the status and the body of the answer.
    fn ask(&mut self, cluster: &Cluster, query: &str) -> Result<(u16, Vec<u8>), Refused> {
        let answer = match &self.address {
            Address::Url { host, port, prefix } => {
                cluster.run(at_url(host, *port, &path(prefix, query), MOST_BYTES))
            }
            Address::Service { namespace, name, port } => {
                // A pod that does not answer may be gone. The next query looks for another one.
                let (pod, port) = match self.pod.take() {
                    Some(before) => before,
                    None => found(cluster, &self.address, [namespace, name], *port)?,
                };
                let doing = format!("forward port {port} of pod `{namespace}/{pod}`");
                let stream = cluster.forward(namespace, &pod, port, &doing)?;
                let path = path("", query);
                let question = Question { host: "localhost", path: &path, most_bytes: MOST_BYTES };
                let answer = cluster.run(ask(stream, &question));
                self.pod = answer.is_ok().then_some((pod, port));
                answer
            }
        };
        answer.map_err(|why| self.refused(&why))
    }

    fn refused(&self, why: &str) -> Refused {
        refused(&self.address, why)
    }
}

fn refused(address: &Address, why: &str) -> Refused {
    Refused::NoPrometheus { address: address.to_string(), why: why.to_owned() }
}

/// The pod behind the port of a service, with the port of the pod.
fn found(
    cluster: &Cluster,
    address: &Address,
    [namespace, name]: [&str; 2],
    port: u16,
) -> Result<(String, u16), Refused> {
    let path = format!("/api/v1/namespaces/{namespace}/services/{name}");
    let service: Service = cluster.get(&path, &format!("show service `{namespace}/{name}`"))?;
    let pods: List<Pod> = cluster.get(&format!("/api/v1/namespaces/{namespace}/pods"), "list pods")?;
    service.pod(&pods.items, port).map_err(|why| refused(address, &why))
}

/// Queries a server that this machine reaches directly.
async fn at_url(host: &str, port: u16, path: &str, most_bytes: usize) -> Result<(u16, Vec<u8>), String> {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let stream = within(TcpStream::connect((address, port))).await?;
    let named = format!("{host}:{port}");
    ask(stream, &Question { host: &named, path, most_bytes }).await
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::client::runtime;

    /// The answer of a server that answers one question so, and the question that it got.
    fn asked(answer: &str, most_bytes: usize) -> (Result<(u16, Vec<u8>), String>, String) {
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
            answer.len()
        );
        runtime().unwrap().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let server = tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut question = vec![0; 4096];
                let length = stream.read(&mut question).await.unwrap();
                // Whoever has read enough hears no more.
                let _ = stream.write_all(answer.as_bytes()).await;
                String::from_utf8(question[..length].to_vec()).unwrap()
            });
            let path = path("/p", &of_namespaces(["shop"]));
            let answer = at_url("127.0.0.1", port, &path, most_bytes).await;
            (answer, server.await.unwrap())
        })
    }

    #[test]
    fn a_prometheus_at_a_url_is_asked_for_what_it_has_stored() {
        let metric = "{\"__name__\": \"container_cpu_usage_seconds_total\", \"namespace\": \"shop\", \"pod\": \"cart\", \"container\": \"envoy\"}";
        let series = format!("{{\"metric\": {metric}, \"values\": [[100.5, \"1.5\"], [110.5, \"2\"]]}}");
        let body = format!(
            "{{\"status\": \"success\", \"data\": {{\"resultType\": \"matrix\", \"result\": [{series}]}}}}"
        );
        let (answer, question) = asked(&body, MOST_BYTES);
        let (status, answer) = answer.unwrap();
        let found = readings(status, &answer).unwrap();
        let found: Vec<(&str, i64, f64)> =
            found.iter().map(|(one, reading)| (one.name.as_str(), reading.at_us, reading.cpu_s)).collect();
        assert_eq!(found, [("envoy", 110_500_000, 2.0)]);
        assert!(
            question.starts_with("GET /p/api/v1/query?query=%7B__name__%3D%7E%22container_cpu_"),
            "{question}"
        );
        assert!(question.contains("\r\nhost: 127.0.0.1:"), "{question}");
    }

    #[test]
    fn an_answer_that_is_too_long_is_no_answer() {
        let long = "x".repeat(3 << 20);
        let (answer, _) = asked(&long, 2 << 20);
        assert_eq!(answer.unwrap_err(), "its answer has more than 2 MiB");
        let (answer, _) = asked(&long, 3 << 20);
        assert_eq!(answer.unwrap().1.len(), long.len());
    }

    #[test]
    fn a_port_on_which_nobody_listens_is_no_prometheus() {
        let answer = runtime().unwrap().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            drop(listener);
            at_url("127.0.0.1", port, "/", MOST_BYTES).await
        });
        assert!(answer.unwrap_err().contains("refused"));
    }
}
