"""
The client side of the protocol between a trainer and Skein: claims, leases, payloads, files. Needs only the standard
library.
"""

import gzip
import hashlib
import io
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from http.client import HTTPResponse, IncompleteRead
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

RETRIES = 6
PART_BYTES = 64 * 1024 * 1024
PIECE_BYTES = 1024 * 1024
BUSY = (408, 429, 500, 502, 503, 504)
JSON = "application/json"
BYTES = "application/octet-stream"

Json = dict[str, Any]


class LeaseLost(Exception):
    """The lease of the job is lost: stop, and report nothing."""


class CancelRequested(Exception):
    """A client has cancelled the job."""


class Refused(Exception):
    """The service has refused a request, and a retry would not help."""


class Window(io.RawIOBase):
    """A range of a file, as the body of a streamed request."""

    def __init__(self, file: BinaryIO, start: int, size: int):
        self.file, self.start, self.size = file, start, size
        self.rewind()

    def rewind(self) -> None:
        self.file.seek(self.start)
        self.left = self.size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(self.left if size < 0 else min(size, self.left))
        self.left -= len(data)
        return data


class Skein:
    def __init__(self, url: str, key: str):
        self.url, self.key = url.rstrip("/"), key

    def open(
        self,
        method: str,
        path: str,
        *,
        body: Json | Window | None = None,
        headers: dict[str, str] | None = None,
        timeout: float = 600,
    ) -> HTTPResponse:
        """Sends a request. Retries when the service is away or busy. A 409 means that the lease is lost."""
        sent = {"Authorization": "Bearer " + self.key, **(headers or {})}
        if isinstance(body, Window):
            sent |= {"Content-Type": BYTES, "Content-Length": str(body.size)}
        data = json.dumps(body, allow_nan=False).encode() if isinstance(body, dict) else body
        if isinstance(body, dict):
            sent["Content-Type"] = JSON
        for attempt in range(RETRIES + 1):
            if isinstance(body, Window):
                body.rewind()
            pause = float(2**attempt)
            try:
                request = urllib.request.Request(self.url + path, data=data, headers=sent, method=method)  # pyright: ignore[reportArgumentType]
                return urllib.request.urlopen(request, timeout=timeout)
            except urllib.error.HTTPError as error:
                detail = error.read().decode("utf-8", "replace")
                if error.code == 409:
                    raise LeaseLost(detail) from None
                if error.code not in BUSY or attempt == RETRIES:
                    raise Refused(f"{method} {path}: {error.code} {detail}") from None
                pause = float(error.headers.get("Retry-After") or pause)
            except OSError:
                if attempt == RETRIES:
                    raise
            time.sleep(pause)
        raise AssertionError("not reached")

    def post(self, path: str, body: Json, headers: dict[str, str] | None = None, timeout: float = 600) -> Json:
        with self.open("POST", path, body=body, headers=headers, timeout=timeout) as response:
            text = response.read()
            return json.loads(text) if text else {}

    def claim(self, worker: str, base_models: list[str], wait_s: float) -> "Job | None":
        wish = {"worker_id": worker, "base_models": base_models, "kinds": ["rl", "sft"], "wait_s": wait_s}
        claimed = self.post("/v1/preview/trainer/claims", wish, timeout=wait_s + 60)
        return Job(self, claimed) if claimed else None


class Job:
    """A claimed job. A thread renews its lease. `check` raises when the lease is lost or the job is cancelled."""

    def __init__(self, skein: Skein, claim: Json):
        self.skein, self.claim = skein, claim
        self.id: str = claim["job_id"]
        self.path = f"/v1/preview/trainer/jobs/{self.id}"
        self.headers = {"x-lease-token": claim["lease_token"]}
        self.seq = 0
        self.lost: LeaseLost | None = None
        self.is_cancelled = False
        self.stopped = threading.Event()
        self.heart = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self.heart.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        self.stopped.set()
        self.heart.join()

    def _beat(self) -> None:
        while not self.stopped.wait(self.claim["heartbeat_seconds"]):
            try:
                self.is_cancelled = self.post("heartbeat", {})["cancel_requested"]
            except LeaseLost as error:
                self.lost = error
                return
            except Exception as error:  # the lease may still be valid when the service is back
                print(f"heartbeat: {error}", file=sys.stderr)

    def check(self) -> None:
        if self.lost:
            raise self.lost
        if self.is_cancelled:
            raise CancelRequested("the job was cancelled")

    def post(self, name: str, body: Json) -> Json:
        return self.skein.post(f"{self.path}/{name}", body, self.headers)

    def report(self, kind: str, data: Json) -> None:
        """Sends an event. Events are numbered, so that sending one twice is harmless."""
        self.seq += 1
        answer = self.post("events", {"events": [{"seq": self.seq, "type": kind, "data": data}]})
        self.is_cancelled = self.is_cancelled or answer["cancel_requested"]
        self.check()

    def groups(self) -> Iterator[Json]:
        """Yields the trajectory groups or rows, with one in memory. The digest of all bytes is checked at the end."""
        payload = self.claim["payload"]
        with Download(self.skein, payload["url"], self.headers) as source:
            with gzip.GzipFile(fileobj=source, mode="rb") as lines:
                for line in lines:
                    self.check()
                    yield json.loads(line)
            source.drain()
            source.assert_is(payload["bytes"], payload["sha256"])

    def fetch(self, of: str, files: Iterable[Json], folder: Path) -> None:
        """Writes files of the parent or of the state below a folder. A file appears when it is complete."""
        for file in files:
            self.check()
            query = urllib.parse.urlencode({"of": of, "name": file["name"]})
            fetch_file(self.skein, f"{self.path}/file?{query}", file, folder, self.headers)

    def send(self, folder: Path) -> list[Json]:
        """Sends the files of a folder, except the parts that Skein has already. Returns their manifest."""
        with self.skein.open("GET", f"{self.path}/parts", headers=self.headers) as response:
            known = {(part["file"], part["part"]) for part in json.load(response)["data"]}
        manifest: list[Json] = []
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            size, sha256 = path.stat().st_size, digest_of(path)
            name = path.relative_to(folder).as_posix()
            manifest.append({"name": name, "size_bytes": size, "sha256": sha256})
            with path.open("rb") as file:
                for part, start in enumerate(range(0, size, PART_BYTES)):
                    self.check()
                    if (sha256, part) in known:
                        continue
                    body = Window(file, start, min(PART_BYTES, size - start))
                    url = f"{self.path}/parts?file={sha256}&part={part}"
                    self.skein.open("POST", url, body=body, headers=self.headers).close()
        return manifest


def fetch_file(skein: Skein, path: str, file: Json, folder: Path, headers: dict[str, str] | None = None) -> None:
    """
    Writes a file of a manifest below a folder. It appears when it is complete and has the digest of the manifest.
    """
    target = folder / file["name"]
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(target.name + ".half")
    with Download(skein, path, headers or {}) as source, half.open("wb") as out:
        while piece := source.read(PIECE_BYTES):
            out.write(piece)
        source.assert_is(file["size_bytes"], file["sha256"])
    half.replace(target)


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Download(io.RawIOBase):
    """
    A response body that counts and hashes the bytes that are read. Continues with a `Range` when a connection breaks.
    """

    def __init__(self, skein: Skein, path: str, headers: dict[str, str]):
        self.skein, self.path, self.headers = skein, path, headers
        self.count, self.hash = 0, hashlib.sha256()
        self.breaks = 0
        self.response = skein.open("GET", path, headers=headers)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while True:
            try:
                data = self.response.read(None if size < 0 else size)
                left = self.response.length  # bytes left of the body; a connection that is closed early leaves some
                if not data and left and size != 0:
                    raise IncompleteRead(data, left)
                break
            except (OSError, IncompleteRead):
                self.breaks += 1
                if self.breaks > RETRIES:
                    raise
                more = {**self.headers, "Range": f"bytes={self.count}-"}
                self.response = self.skein.open("GET", self.path, headers=more)
        self.count += len(data)
        self.hash.update(data)
        return data

    def drain(self) -> None:
        while self.read(PIECE_BYTES):
            pass

    def assert_is(self, size: int, sha256: str) -> None:
        if (self.count, self.hash.hexdigest()) != (size, sha256):
            raise OSError(f"{self.path} did not arrive whole")

    def close(self) -> None:
        self.response.close()
        super().close()


def worker_name() -> str:
    return f"{os.uname().nodename}-{os.getpid()}"
