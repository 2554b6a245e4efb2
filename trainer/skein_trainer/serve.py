"""`skein-serve`: loads finished LoRAs into vLLM, and reports to Skein's gateway which ones it serves."""

import argparse
import json
import os
import re
import signal
import sys
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from skein_trainer.client import JSON, Json, LeaseLost, Refused, Skein, digest_of, fetch_file

NEEDED = ("adapter_config.json", "adapter_model.safetensors")
OWN_NAME = re.compile(r"[0-9a-f-]{36}-step\d+")
ADAPTERS = re.compile(r"^vllm:lora_requests_info\{(.*)\} (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(?:running|waiting)_lora_adapters="([^"]*)"')


class Vllm:
    """
    The part of vLLM's API that changes its LoRAs. vLLM must be started with VLLM_ALLOW_RUNTIME_LORA_UPDATING=True.
    """

    def __init__(self, url: str, key: str | None = None):
        self.url = url.rstrip("/").removesuffix("/v1")
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}

    def ask(self, path: str, body: Json | None = None, timeout: float = 300) -> str:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {**self.headers, "Content-Type": JSON})
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.read().decode()

    def models(self) -> set[str]:
        return {model["id"] for model in json.loads(self.ask("/v1/models"))["data"]}

    def load(self, name: str, folder: Path) -> None:
        self.ask("/v1/load_lora_adapter", {"lora_name": name, "lora_path": str(folder)})

    def unload(self, name: str) -> None:
        self.ask("/v1/unload_lora_adapter", {"lora_name": name})

    def in_use(self) -> set[str] | None:
        """
        Returns the LoRAs that have requests; None when the engine does not report them. The newest series counts.
        """
        series = [(float(at), labels) for labels, at in ADAPTERS.findall(self.ask("/metrics"))]
        if not series:
            return None
        return {name.strip() for names in LABEL.findall(max(series)[1]) for name in names.split(",")}


@dataclass(frozen=True)
class Checkpoint:
    model_id: str
    step: int
    base_model: str

    @property
    def name(self) -> str:
        """Returns the name at the engine. Model names may be equal in several projects, but ids are unique."""
        return f"{self.model_id}-step{self.step}"


@dataclass
class Settings:
    provider: str
    folder: Path
    #: Name of the base model, which is step 0, at the engine; by default its name in Skein.
    engine_model: str | None = None
    base_models: tuple[str, ...] = ()
    newest: int = 2
    ttl_s: int = 90
    #: Seconds that requests for a LoRA may take before it is unloaded, when the engine does not report which LoRAs
    #: are in use.
    grace_s: float = 600


class Server:
    """Keeps vLLM and the gateway up to date: each `tick` compares the wanted checkpoints with the served ones."""

    def __init__(self, skein: Skein, engine: Vllm, settings: Settings):
        self.skein, self.engine, self.settings = skein, engine, settings
        #: Times at which the report to the gateway must be renewed.
        self.ready: dict[Checkpoint, float] = {}
        #: LoRAs that get no new requests, and the times since when.
        self.leaving: dict[str, float] = {}
        #: Checkpoints that are not LoRAs, or that the engine or the gateway refused, and the times of the next try.
        self.refused: dict[Checkpoint, float] = {}

    def tick(self) -> None:
        wanted = self.wanted()
        loaded = self.engine.models()
        for checkpoint in [one for one in self.ready if one not in wanted]:
            self.end(checkpoint)
        for checkpoint in wanted:
            if time.monotonic() < self.refused.get(checkpoint, 0):
                continue
            try:
                self.serve(checkpoint, loaded)
            except (LeaseLost, Refused, ValueError, OSError) as error:
                detail = error.read().decode("utf-8", "replace") if hasattr(error, "read") else ""  # pyright: ignore
                print(f"{checkpoint.name} is not served: {error} {detail}", file=sys.stderr, flush=True)
                self.refused[checkpoint] = time.monotonic() + 60
        self.unload({one.name for one in wanted}, loaded)

    def wanted(self) -> list[Checkpoint]:
        """Returns, for each model, the newest steps, those with an alias, and step 0, which is the base model."""
        found: list[Checkpoint] = []
        for base_model in self.settings.base_models or (None,):
            after = None
            while True:
                query = {"limit": 100, "base_model": base_model, "after": after}
                asked = urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})
                with self.skein.open("GET", f"/v1/preview/trainer/models?{asked}") as response:
                    page = json.load(response)
                for model in page["data"]:
                    found += [Checkpoint(model["id"], step, model["base_model"]) for step in self.steps(model)]
                if not page["has_more"]:
                    break
                after = page["last_id"]
        return found

    def steps(self, model: Json) -> list[int]:
        steps = sorted(model["steps"], key=lambda one: -one["step"])
        here = [one["step"] for one in steps if one["files"]][: self.settings.newest]
        named = [one["step"] for one in steps if one["files"] and one.get("aliases")]
        base = [one["step"] for one in steps if one["step"] == 0]
        return list(dict.fromkeys(here + named + base))

    def serve(self, checkpoint: Checkpoint, loaded: set[str]) -> None:
        is_base = checkpoint.step == 0
        name = self.settings.engine_model or checkpoint.base_model if is_base else checkpoint.name
        if name not in loaded:
            self.ready.pop(checkpoint, None)
            if is_base:
                raise ValueError(f"the engine has no model {name}")
            self.engine.load(name, self.fetch(checkpoint))
            loaded.add(name)
        self.leaving.pop(name, None)
        if time.monotonic() < self.ready.get(checkpoint, 0):
            return
        told = {**self.key_of(checkpoint), "upstream_model": name, "ttl_seconds": self.settings.ttl_s}
        self.skein.post("/v1/preview/trainer/serving", told)
        if checkpoint not in self.ready:
            print(f"{checkpoint.name} is served", flush=True)
        self.ready[checkpoint] = time.monotonic() + self.settings.ttl_s / 3

    def fetch(self, checkpoint: Checkpoint) -> Path:
        """
        Returns the folder with the files of a LoRA. Files that exist with the right digest are not fetched again.
        """
        path = f"/v1/preview/trainer/models/{checkpoint.model_id}/checkpoints/{checkpoint.step}"
        with self.skein.open("GET", f"{path}/files") as response:
            files = [file for file in json.load(response)["files"] if file["name"] in NEEDED]
        if len(files) < len(NEEDED):
            raise ValueError("it is no LoRA in the format of PEFT")
        folder = self.settings.folder / checkpoint.name
        for file in files:
            known = folder / file["name"]
            if not known.exists() or digest_of(known) != file["sha256"]:
                fetch_file(self.skein, f"{path}/file?name={urllib.parse.quote(file['name'])}", file, folder)
        return folder

    def end(self, checkpoint: Checkpoint) -> None:
        """Ends new requests. Requests under way continue."""
        del self.ready[checkpoint]
        try:
            self.skein.post("/v1/preview/trainer/serving/end", self.key_of(checkpoint))
        except Refused as error:  # happens when the model was deleted
            print(f"{checkpoint.name}: {error}", file=sys.stderr, flush=True)

    def unload(self, wanted: set[str], loaded: set[str]) -> None:
        gone = {name for name in loaded if OWN_NAME.fullmatch(name)} - wanted
        if not gone:
            return
        in_use = self.engine.in_use()
        for name in sorted(gone):
            since = self.leaving.setdefault(name, time.monotonic())
            waits = time.monotonic() - since < self.settings.grace_s if in_use is None else name in in_use
            # the gateway may have chosen it just before the report
            if waits or time.monotonic() - since < min(5, self.settings.grace_s):
                continue
            self.engine.unload(name)
            del self.leaving[name]
            folder = self.settings.folder / name
            for file in folder.glob("*"):
                file.unlink()
            if folder.exists():
                folder.rmdir()
            print(f"{name} is unloaded", flush=True)

    def key_of(self, checkpoint: Checkpoint) -> Json:
        return {"model_id": checkpoint.model_id, "step": checkpoint.step, "provider": self.settings.provider}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="skein-serve", description=__doc__)
    add: Any = parser.add_argument
    add("--url", default=os.environ.get("SKEIN_URL"), help="address of Skein; SKEIN_URL")
    add("--key", default=os.environ.get("SKEIN_API_KEY"), help="a key with the role trainer; SKEIN_API_KEY")
    add("--engine-url", required=True, help="address of vLLM")
    add("--engine-key", default=os.environ.get("VLLM_API_KEY"), help="VLLM_API_KEY")
    add("--provider", required=True, help="what GATEWAY_PROVIDERS calls this vLLM")
    add("--base-model", action="append", help="of the models to serve, as Skein calls it; all by default")
    add("--engine-model", help="what vLLM calls the base model; by default the same")
    add("--newest", type=int, default=2, help="steps of each model that stay loaded, beside those with an alias")
    add("--ttl", type=int, default=90, help="seconds after which the gateway forgets what is not renewed")
    add("--every", type=float, default=2, help="seconds between two looks")
    add("--grace", type=float, default=600, help="seconds that requests may take, if vLLM has no metrics of LoRAs")
    add("--work", type=Path, default=Path(gettempdir()) / "skein-serve", help="folder for LoRAs, which vLLM reads too")
    given = parser.parse_args()
    for name in ("url", "key"):
        if not getattr(given, name):
            parser.error(f"--{name} is missing")
    return given


def main() -> None:
    given = arguments()
    settings = Settings(
        provider=given.provider,
        folder=given.work,
        engine_model=given.engine_model,
        base_models=tuple(given.base_model or ()),
        newest=given.newest,
        ttl_s=given.ttl,
        grace_s=given.grace,
    )
    server = Server(Skein(given.url, given.key), Vllm(given.engine_url, given.engine_key), settings)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while True:
            try:
                server.tick()
            except (Refused, LeaseLost, OSError) as error:  # reports that are not renewed expire
                print(f"{error}", file=sys.stderr, flush=True)
            time.sleep(given.every)
    except KeyboardInterrupt:
        for checkpoint in list(server.ready):
            server.end(checkpoint)
        print("stopped")


if __name__ == "__main__":
    main()
