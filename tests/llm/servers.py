"""A real OpenAI-compatible server on loopback, and a proxy before it that spoils some of the answers and counts the good ones."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FAULTS = ("rate limit", "server error", "hang", "cut", "garbage", "empty")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def model_server(model: Path, log: Path) -> Iterator[str]:
    """transformers' own server on a saved model, which it calls by its folder's name; yields its address."""
    port = free_port()
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", model.name]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=model.parent)
        try:
            for _ in range(240):
                assert process.poll() is None, log.read_text()
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
                    break
                except (urllib.error.URLError, ConnectionError, TimeoutError):
                    time.sleep(0.5)
            else:
                raise AssertionError(log.read_text())
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


class Proxy:
    """Passes chat completions on. `faults` are used up one a request, in order; `passed` counts good replies by prompt."""

    def __init__(self, upstream: str, faults: list[str], key: str, hang: float = 5.0, slow: float = 0.0) -> None:
        self.upstream, self.faults, self.key, self.hang, self.slow = upstream, list(faults), key, hang, slow
        self.passed: Counter[str] = Counter()
        self.spoilt: Counter[str] = Counter()
        self.keys: set[str] = set()
        self.in_flight = 0
        self.most_in_flight = 0
        self.lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                proxy.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def __enter__(self) -> Proxy:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        with self.lock:
            self.keys.add(handler.headers.get("Authorization", "").removeprefix("Bearer "))
            fault = self.faults.pop(0) if self.faults else ""
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            self._answer(handler, body, fault)
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            with self.lock:
                self.in_flight -= 1

    def _answer(self, handler: BaseHTTPRequestHandler, body: bytes, fault: str) -> None:
        if handler.headers.get("Authorization") != f"Bearer {self.key}":
            self._send(handler, 401, b'{"error": {"message": "Incorrect API key provided"}}')
            return
        if fault:
            with self.lock:
                self.spoilt[fault] += 1
        if fault == "rate limit":
            self._send(handler, 429, b'{"error": {"message": "slow down"}}', {"Retry-After": "1"})
            return
        if fault == "server error":
            self._send(handler, 500, b'{"error": {"message": "oops"}}')
            return
        if fault == "hang":
            time.sleep(self.hang)
            return
        request = urllib.request.Request(
            self.upstream + handler.path, body, {"Content-Type": "application/json"}, method="POST"
        )
        time.sleep(self.slow)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                content = reply.read()
        except urllib.error.HTTPError as error:
            self._send(handler, error.code, error.read())
            return
        if fault == "cut":
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content[: len(content) // 2])
            return
        if fault == "garbage":
            self._send(handler, 200, content[: len(content) // 2])
            return
        if fault == "empty":
            changed = json.loads(content)
            changed["choices"][0]["message"]["content"] = ""
            changed["choices"][0]["finish_reason"] = "stop"
            content = json.dumps(changed).encode()
        self._send(handler, 200, content)
        with self.lock:
            self.passed[json.loads(body)["messages"][-1]["content"]] += 1

    def _send(
        self, handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        handler.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)
