"""Shared by the benchmarks of decisions: Envoy configurations that differ by a known CPU time per request.

A Lua script counts in a loop. A comparison with a loop that is longer by a known number of steps gives the cost of a step.
"""

import json
import subprocess
import sys
import tempfile

import common

STEPS = 1_000
MORE_STEPS = 20_000
CONFIGURATION = """
static_resources:
  listeners:
    - name: edge
      address: {socket_address: {address: 127.0.0.1, port_value: 10000}}
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: edge
                route_config:
                  virtual_hosts:
                    - {name: all, domains: ["*"], routes: [{match: {prefix: "/"}, route: {cluster: service}}]}
                http_filters:
                  - name: count
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua
                      default_source_code:
                        inline_string: |
                          function envoy_on_request(handle)
                            local sum = 0
                            for step = 1, STEPS do sum = sum + step % 7 end
                            handle:headers():replace("x-sum", tostring(sum))
                          end
                  - name: envoy.filters.http.router
                    typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
    - name: service
      type: STATIC
      load_assignment:
        cluster_name: service
        endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 8080}}}}]}]
"""


def hoptax(*arguments):
    """Runs hoptax and returns its JSON. Exits if it failed for a reason other than its outcome."""
    done = subprocess.run([common.HOPTAX, *arguments, "--json", "-"], capture_output=True, text=True, check=False)
    # 1: a limit failed; 4: nothing could be judged.
    if done.returncode not in (0, 1, 4) or not done.stdout:
        sys.exit(f"hoptax {arguments[0]} exited with code {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def write(path, steps=STEPS):
    """Writes a configuration whose script counts this number of steps."""
    path.write_text(CONFIGURATION.replace("STEPS", str(steps)))


def dearer_steps(folder, reference, share):
    """The number of steps that costs this share more CPU time per request than the reference, a configuration in the folder."""
    write(folder / "longer.yaml", STEPS + MORE_STEPS)
    with tempfile.TemporaryDirectory() as out:
        compared = hoptax("compare", str(reference), str(folder / "longer.yaml"), "--out", out)
    measures = {measure["measure"]: measure for measure in compared["subjects"][0]["measures"]}
    cpu = measures["cpu_us"]
    per_step_us = cpu["difference"]["estimate"] / MORE_STEPS
    more = round(share * cpu["reference"] / per_step_us)
    print(f"a request takes {cpu['reference']:.1f} us, a step {1_000 * per_step_us:.2f} ns: {more} steps are {share:.0%}", flush=True)
    return STEPS + more
