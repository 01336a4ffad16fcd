//! The admin interface of the proxy in a pod, from the pod's description.

mod port;

use self::port::{Known, known, stated};
use crate::admin::Admin;
use crate::described::{Container, ContainerState, ContainerStatus, Pod, Status};
use crate::name::PodName;
use crate::refused::Refused;

/// The proxy in a container that is known not to be Envoy. The container of ztunnel has the same name as an Istio sidecar.
fn other_proxy(container: &Container) -> Option<&'static str> {
    if container.name == "linkerd-proxy" {
        return Some("Linkerd's proxy");
    }
    let is_ztunnel = container.command.iter().chain(&container.args).any(|word| word == "ztunnel");
    is_ztunnel.then_some("Istio's ztunnel")
}

impl Pod {
    /// The containers that run at the same time: a sidecar may be an init container that is always restarted.
    fn beside(&self) -> impl Iterator<Item = &Container> {
        let is_sidecar = |container: &&Container| container.restart_policy.as_deref() == Some("Always");
        self.spec.containers.iter().chain(self.spec.init_containers.iter().filter(is_sidecar))
    }

    /// The admin interface of its proxy. The user may state the container and the port.
    ///
    /// # Errors
    /// When the pod has no such container, none or several known proxies, a proxy other than Envoy, or no known port.
    pub fn admin(&self, pod: &PodName, container: Option<&str>, port: Option<u16>) -> Result<Admin, Refused> {
        let names = || self.beside().map(|container| container.name.clone()).collect::<Vec<_>>();
        let found = match container {
            Some(wanted) => {
                let found = self.beside().find(|container| container.name == wanted);
                let found = found.ok_or_else(|| Refused::NoContainer {
                    pod: pod.clone(),
                    wanted: wanted.to_owned(),
                    there: names(),
                })?;
                Some((found, known(wanted)))
            }
            None => self.only_known(pod)?,
        };
        let of_user = port.map(|port| (port, "--admin-port".to_owned()));
        let other = match found {
            Some((found, _)) => other_proxy(found),
            None if of_user.is_some() => None,
            None => self.beside().find_map(other_proxy),
        };
        if let Some(proxy) = other {
            return Err(Refused::NoEnvoy { pod: pod.clone(), proxy });
        }
        match (found, of_user) {
            (found, Some((port, source))) => {
                Ok(Admin { container: found.map(|(found, _)| found.name.clone()), port, source })
            }
            (Some((found, known)), None) => {
                let stated = stated(found, &self.metadata.annotations);
                let usual = || known.map(|known| (known.port, format!("the usual port of `{}`", found.name)));
                let (port, source) = stated
                    .or_else(usual)
                    .ok_or_else(|| Refused::NoPort { pod: pod.clone(), container: found.name.clone() })?;
                Ok(Admin { container: Some(found.name.clone()), port, source })
            }
            (None, None) => Err(Refused::NoProxy { pod: pod.clone(), there: names() }),
        }
    }

    /// The only container with a known proxy; none if there is none.
    fn only_known(&self, pod: &PodName) -> Result<Option<(&Container, Option<&'static Known>)>, Refused> {
        let found = self.beside().filter_map(|container| Some((container, known(&container.name)?)));
        let found: Vec<_> = found.collect();
        match found.as_slice() {
            [] => Ok(None),
            [(container, known)] => Ok(Some((*container, Some(*known)))),
            several => Err(Refused::SeveralProxies {
                pod: pod.clone(),
                there: several.iter().map(|(container, _)| container.name.clone()).collect(),
            }),
        }
    }

    /// Checks that the container of the proxy is running or, if it is unknown, the pod. `context` is a context of the kubeconfig.
    ///
    /// # Errors
    /// When it is not running, with the cluster's reason.
    pub fn check_running(
        &self,
        context: &str,
        pod: &PodName,
        container: Option<&str>,
    ) -> Result<(), Refused> {
        let refused =
            |why: String| Refused::NotRunning { context: context.to_owned(), pod: pod.clone(), why };
        let Status { phase, reason, container_statuses, init_container_statuses, .. } = &self.status;
        let statuses = || container_statuses.iter().chain(init_container_statuses);
        let waits = |status: &ContainerStatus| {
            let ContainerState { running, waiting, terminated } = &status.state;
            let reason = &waiting.as_ref().or(terminated.as_ref())?.reason;
            // A successfully completed init container is not a reason.
            let is_one = running.is_none() && !["", "Completed"].contains(&reason.as_str());
            is_one.then(|| format!("`{}`: {reason}", status.name))
        };
        if phase != "Running" {
            let because = reason.clone().or_else(|| statuses().find_map(waits));
            let because = because.map(|because| format!(" ({because})")).unwrap_or_default();
            let phase = if phase.is_empty() { "unknown" } else { phase.as_str() };
            return Err(refused(format!("its phase is {phase}{because}")));
        }
        let status = container.and_then(|name| statuses().find(|status| status.name == name));
        match status {
            Some(status) if status.state.running.is_none() => {
                let why = waits(status).unwrap_or_else(|| format!("`{}` has not started", status.name));
                Err(refused(why))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
