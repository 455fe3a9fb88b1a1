"""An OpenTelemetry collector on loopback that takes OTLP over HTTP and decodes it with the protocol's own messages."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

REQUESTS = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}


class FakeCollector:
    """Served by threads of its own: the SDK sends from a thread and waits for the reply."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: dict[str, Any] = {}  #: the newest of each name
        self.resources: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.status = 200

    def __enter__(self) -> Self:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.take(self.path, self.headers["Content-Type"], body)
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, path: str, media_type: str, body: bytes) -> None:
        assert media_type == "application/x-protobuf"
        self.bodies.append(body)
        if self.status != 200:
            return
        request = REQUESTS[path].FromString(body)
        for resource in getattr(request, "resource_spans", ()):
            self.resources.append(attributes_of(resource.resource))
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        for resource in getattr(request, "resource_metrics", ()):
            self.metrics |= {each.name: each for scope in resource.scope_metrics for each in scope.metrics}


def attributes_of(holder: Any) -> dict[str, Any]:
    """Of a span, a resource or a data point."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in holder.attributes}


def points_of(metric: Any) -> Mapping[tuple[Any, ...], Any]:
    """The data points of a metric, by the values of their labels in the order of the labels' names."""
    kind = getattr(metric, metric.WhichOneof("data"))
    return {
        tuple(text for _, text in sorted(attributes_of(point).items())): point for point in kind.data_points
    }
