"""A scoring service: ``python scoring_server.py model.json 8000``.

It answers ``POST {"rows": [[...], ...]}``.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

import evlearn

LARGEST = 10_000_000  # maximum size of a request in bytes


class Scoring(BaseHTTPRequestHandler):
    """Handler that returns clusters, assignments and masses; all threads share one model."""

    protocol_version = "HTTP/1.1"  # keeps connections open
    disable_nagle_algorithm = True
    wbufsize = -1  # sends head and body together

    def do_POST(self):
        """Score rows."""
        length = int(self.headers.get("Content-Length", 0))
        if length > LARGEST:
            self.close_connection = True
            return self.answer(413, {"error": f"more than {LARGEST} bytes; send fewer rows."})
        try:
            request = json.loads(self.rfile.read(length))
            rows = np.array(request["rows"], dtype=np.float64)
            partition = self.server.model.predict_mass(rows)
        except (ValueError, KeyError, TypeError) as error:
            return self.answer(400, {"error": str(error)})
        result = {
            "cluster": partition.to_hard().tolist(),
            "assignment": partition.verdict().labels().tolist(),
            "sets": partition.focal_sets.labels,
            "masses": partition.masses.tolist(),
        }
        return self.answer(200, result)

    def do_GET(self):
        """Return the state of the service."""
        pools = threadpool_info()
        blas = [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        usage = {"resident_bytes": 4096 * pages, "cpu_seconds": time.process_time()}
        model = repr(self.server.model)
        self.answer(200, {"model": model, "blas_threads": blas, **usage})

    def answer(self, status, content):
        """Send a response."""
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Disable logging."""


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Scoring) as server:
        server.model = evlearn.load_model(sys.argv[1])
        print(server.server_port, flush=True)
        server.serve_forever()
