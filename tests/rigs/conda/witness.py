"""The `sitecustomize` of an environment under test: each process says, when it ends, where its modules came from.

It does so in a JSON file of its own in the folder that POSYM_WITNESS names; without that variable nothing happens. The
workflow's own code stays as it is: what it logs or writes is nothing that a test had to add.
"""

import atexit
import json
import os
import sys
import time
from pathlib import Path


def _testify(folder: str) -> None:
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    there = {os.path.realpath(file) for file in files if file and Path(file).is_file()}  # torch.ops only names a file
    record = {"script": sys.argv[0], "prefix": os.path.realpath(sys.prefix), "files": sorted(there)}
    Path(folder, f"{os.getpid()}-{time.time_ns()}.json").write_text(json.dumps(record), encoding="utf-8")


if "POSYM_WITNESS" in os.environ:
    atexit.register(_testify, os.environ["POSYM_WITNESS"])
