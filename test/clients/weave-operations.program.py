"""Prints the operations that the client's generated SDK can call, as `METHOD path`."""

import json
import re
from pathlib import Path

import weave.vendor.weave_server_sdk as sdk

ASKS = re.compile(r'self\._(get|post|put|delete|patch)\(\s*(?:path_template\(\s*)?f?"(/[^"]*)"')
sources = Path(sdk.__file__).parent.glob("resources/**/*.py")
found = {match for source in sources for match in ASKS.findall(source.read_text())}
print(json.dumps(sorted(f"{method.upper()} {path}" for method, path in found)))
