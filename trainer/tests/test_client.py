"""
Tests downloads over connections that break. test/training/really-trains.long-spec.ts tests the trainer against Skein.
"""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from skein_trainer.client import Download, Refused, Skein

CONTENT = bytes(range(256)) * 400


class Breaking(BaseHTTPRequestHandler):
    """Announces all remaining bytes, sends a part of them, and closes the connection. The first request fails."""

    asked: list[str | None] = []  # noqa: RUF012

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.asked.append(asked)
        if len(self.asked) == 1:
            self.send_error(503)
            return
        if self.path == "/none":
            self.send_error(404, "no such file")
            return
        rest = CONTENT[int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0 :]
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[:40_000])
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def skein() -> Iterator[Skein]:
    Breaking.asked.clear()
    server = HTTPServer(("127.0.0.1", 0), Breaking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Skein(f"http://127.0.0.1:{server.server_port}", "key")
    server.shutdown()
    server.server_close()


def test_a_download_goes_on_where_it_broke(skein: Skein):
    with Download(skein, "/file", {}) as source:
        read = b"".join(iter(lambda: source.read(10_000), b""))
        assert read == CONTENT
        source.assert_is(len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
        with pytest.raises(OSError, match="did not arrive whole"):
            source.assert_is(len(CONTENT), "0" * 64)
    assert Breaking.asked == [None, None, "bytes=40000-", "bytes=80000-"]


def test_a_refusal_names_what_was_asked(skein: Skein):
    with pytest.raises(Refused, match=r"GET /none: 404"):
        Download(skein, "/none", {})
