"""Hooks and checks of schemathesis for tools/rest-fuzz.

Random texts are no URLs of a server, and random numbers name no run and no job. So some requests get a body that starts a job or changes
a run, and half of the numbers become small. The others stay as drawn.
"""

import json
import os
import urllib.request
import zlib

import schemathesis

SERVER = os.environ["SERVER"]
# The origin that loads may target.
TARGET = os.environ["TARGET"] + "/"
AUTHORIZATION = {"Authorization": "Bearer " + os.environ["TOKEN"]} if "TOKEN" in os.environ else {}
# More than the number of runs, and than the number of jobs at first.
NUMBERS = {"run": 24, "job": 8}
ENVOY = "type.googleapis.com/envoy.extensions.filters"
CONFIGURATION = {
    "static_resources": {
        "listeners": [{
            "name": "web",
            "address": {"socket_address": {"address": "0.0.0.0", "port_value": 8080}},
            "filter_chains": [{"filters": [{
                "name": "envoy.filters.network.http_connection_manager",
                "typed_config": {
                    "@type": f"{ENVOY}.network.http_connection_manager.v3.HttpConnectionManager",
                    "stat_prefix": "web",
                    "http_filters": [
                        {"name": "envoy.filters.http.cors", "typed_config": {"@type": f"{ENVOY}.http.cors.v3.Cors"}},
                        {"name": "envoy.filters.http.router", "typed_config": {"@type": f"{ENVOY}.http.router.v3.Router"}},
                    ],
                    "route_config": {"virtual_hosts": [
                        {"name": "shop", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "shop"}}]},
                    ]},
                },
            }]}],
        }],
        "clusters": [{
            "name": "shop",
            "type": "STRICT_DNS",
            "load_assignment": {"cluster_name": "shop", "endpoints": [{"lb_endpoints": [
                {"endpoint": {"address": {"socket_address": {"address": "shop.internal", "port_value": 80}}}},
            ]}]},
        }],
    },
}


def load(drawn):
    """A load that ends at once."""
    wanted = {"target": TARGET, "duration": f"{1 + drawn % 50}ms", "warmup": "0s", "connections": 1 + drawn % 8, "rate": 200.0}
    return wanted | {"protocol": ("auto", "http1", "http2")[drawn % 3]}


# By operation: one in this many requests gets this body. A job that starts Envoy takes seconds to stop.
BODIES = {
    "POST /api/v1/loads": (2, load),
    "POST /api/v1/finds": (8, lambda drawn: {"target": TARGET, "objectives": ["p99<10s"], "min_rate": 10.0, "max_rate": 1000.0}),
    "POST /api/v1/studies": (16, lambda drawn: {"study": "quick"}),
    "POST /api/v1/bills": (16, lambda drawn: {"configuration": json.dumps(CONFIGURATION)}),
    "PATCH /api/v1/runs/{run}": (2, lambda drawn: {"add": [f"fuzzed-{drawn % 4}"], "remove": [f"fuzzed-{drawn % 3}"]}),
}
# All operations of the document, as methods and paths.
OPERATIONS = set()
# Method and path of the operation that stops a job.
STOP = []


@schemathesis.hook
def before_load_schema(ctx, raw_schema):
    """Lists the operations, finds the one that stops a job, and describes the events of a job.

    OpenAPI 3.1 cannot describe events; schemathesis applies the schema of a stream to each event.
    """
    for path, operations in raw_schema["paths"].items():
        for method, operation in operations.items():
            OPERATIONS.add(f"{method.upper()} {path}")
            if operation["operationId"] == "stopJob":
                STOP[:] = [method.upper(), path]
            if operation["operationId"] == "followJob":
                data = {"contentMediaType": "application/json", "contentSchema": {"$ref": "#/components/schemas/Job"}}
                properties = {"event": {"const": "job"}, "data": {"type": "string"} | data}
                stream = operation["responses"]["200"]["content"]["text/event-stream"]
                stream["schema"] = {"type": "object", "required": ["event", "data"], "properties": properties}


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """Changes some of the requests, the same ones in each run."""
    for name, most in NUMBERS.items():
        number = (case.path_parameters or {}).get(name)
        if isinstance(number, int) and not isinstance(number, bool) and number % 2 == 0:
            case.path_parameters[name] = 1 + number // 2 % most
    runs = (case.query or {}).get("runs")
    if isinstance(runs, str):
        runs = [int(one) for one in runs.split(",") if one.isdigit()]
    if isinstance(runs, list) and len(runs) > 1 and all(type(one) is int for one in runs) and sum(runs) % 2 == 0:
        first = runs[0] % NUMBERS["run"]
        case.query["runs"] = ",".join(str(1 + (first + place) % NUMBERS["run"]) for place in range(len(runs)))
    share, body = BODIES.get(case.operation.label, (1, None))
    if body and isinstance(case.body, dict):
        drawn = zlib.crc32(json.dumps(case.body, sort_keys=True, default=str).encode())
        if drawn % share == 0:
            case.body = body(drawn // share)


@schemathesis.hook
def after_call(ctx, case, response):
    """Stops a job that does not end at once."""
    is_short = isinstance(case.body, dict) and str(case.body.get("duration", "")).endswith("ms")
    if response.status_code == 202 and "location" in response.headers and not is_short:
        method, path = STOP
        job = response.headers["location"][0].rsplit("/", 1)[1]
        request = urllib.request.Request(SERVER + path.replace("{job}", job), method=method, headers=AUTHORIZATION)
        urllib.request.urlopen(request).read()


@schemathesis.check
def refused_without_the_token(ctx, response, case):
    """A server with a token refuses every request without it."""
    if response.status_code != 401:
        raise AssertionError(f"status {response.status_code} without the token")


@schemathesis.check
class EveryOperationSucceeds:
    """Operations that were never called or always refused are not tested."""

    def __init__(self):
        self.succeeded = set()

    def after_response(self, ctx, response, case):
        if 200 <= response.status_code < 300:
            self.succeeded.add(case.operation.label)

    def after_run(self, ctx):
        never = sorted(OPERATIONS - self.succeeded)
        if never:
            raise AssertionError("never succeeded: " + ", ".join(never))
