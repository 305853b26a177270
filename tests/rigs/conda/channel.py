"""A conda channel on this machine's disk, with the one Python that the environment files ask for and its pip.

Python is packed from an upstream CPython build that is installed here (pyenv's, for example; Debian's own is patched and does
not work elsewhere), pip from the wheel that comes with it. The standard library alone is enough to run this.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SUBDIRS = ("linux-64", "noarch")
WHEN = 1_700_000_000  # one time for all files: the same build makes the same package
SKIPPED = {"site-packages", "test", "tests", "idlelib", "turtledemo", "tkinter", "lib2to3", "ensurepip", "__pycache__"}
PROBE = """
import json, platform, sysconfig
print(json.dumps({
    "version": platform.python_version(), "short": sysconfig.get_python_version(), "library": sysconfig.get_path("stdlib"),
    "shared": sysconfig.get_config_var("INSTSONAME") if sysconfig.get_config_var("Py_ENABLE_SHARED") else None,
    "folder": sysconfig.get_config_var("LIBDIR"), "patched": "deb_system" in sysconfig.get_scheme_names(),
}))
"""


@dataclass
class Package:
    """A conda package in the making: its files, by path below the environment's prefix."""

    index: dict[str, Any]
    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)  # content and mode
    links: dict[str, str] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)  # more files of info/

    def write(self, channel: Path) -> tuple[str, dict[str, Any]]:
        """Write the archive; its name and its record in repodata.json."""
        paths = [
            {
                "_path": path,
                "path_type": "hardlink",
                "size_in_bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
            for path, (data, _) in self.files.items()
        ]
        empty = hashlib.sha256(b"").hexdigest()
        paths += [{"_path": path, "path_type": "softlink", "size_in_bytes": 0, "sha256": empty} for path in self.links]
        info = {
            "info/index.json": json.dumps(self.index),
            "info/paths.json": json.dumps({"paths": paths, "paths_version": 1}),
            "info/files": "".join(f"{path}\n" for path in (*self.files, *self.links)),
            **self.extra,
        }
        name = "{name}-{version}-{build}.tar.bz2".format(**self.index)
        target = channel / self.index["subdir"] / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(target, "w:bz2", compresslevel=1) as archive:
            for path, text in info.items():
                _add(archive, path, text.encode(), 0o644)
            for path, (data, mode) in self.files.items():
                _add(archive, path, data, mode)
            for path, aim in self.links.items():
                member = tarfile.TarInfo(path)
                member.type, member.linkname, member.mtime = tarfile.SYMTYPE, aim, WHEN
                archive.addfile(member)
        data = target.read_bytes()
        digests = {kind: hashlib.new(kind, data).hexdigest() for kind in ("md5", "sha256")}
        return name, {**self.index, "size": len(data), **digests}


def _add(archive: tarfile.TarFile, path: str, data: bytes, mode: int) -> None:
    member = tarfile.TarInfo(path)
    member.size, member.mode, member.mtime = len(data), mode, WHEN
    archive.addfile(member, io.BytesIO(data))


def _index(name: str, version: str, build: str, depends: list[str], subdir: str) -> dict[str, Any]:
    return {
        "name": name,
        "version": version,
        "build": build,
        "build_number": 0,
        "depends": depends,
        "subdir": subdir,
        "timestamp": WHEN * 1000,
    }


def python_package(python: Path) -> tuple[Package, Path]:
    """The interpreter, its library and standard library as a package, and the folder of the wheels that come with it."""
    about = json.loads(subprocess.check_output([python, "-I", "-c", PROBE], text=True))
    if about["patched"]:
        raise SystemExit(f"{python} is Debian's patched build: give an upstream one, such as pyenv's")
    short, library = about["short"], Path(about["library"])
    package = Package(_index("python", about["version"], "0_upstream", [], "linux-64"))

    def relocatable(path: Path) -> bytes:
        """The file's bytes, its shared library looked for beside itself instead of at an absolute path."""
        data = path.read_bytes()
        absolute, relative = f"{about['folder']}\0".encode(), b"$ORIGIN/../lib\0"
        if absolute in data and len(absolute) < len(relative):
            raise SystemExit(f"{about['folder']} is too short a path to be replaced in {path.name}")
        return data.replace(absolute, relative + b"\0" * (len(absolute) - len(relative)))

    program = f"bin/python{short}"
    package.files[program] = (relocatable(library.parents[1] / program), 0o755)
    package.links |= {"bin/python": f"python{short}", "bin/python3": f"python{short}"}
    if about["shared"]:
        shared = library.parent / about["shared"]  # a Python that was moved still names the folder it was built for
        if not shared.exists():
            shared = Path(about["folder"]) / about["shared"]
        package.files[f"lib/{about['shared']}"] = (relocatable(shared), 0o755)
    for path in sorted(library.rglob("*")):
        inside = path.relative_to(library)
        skipped = SKIPPED & set(inside.parts) or inside.parts[0].startswith("config-")
        if path.is_file() and not skipped and path.suffix not in (".pyc", ".a"):
            package.files[f"lib/python{short}/{inside}"] = (relocatable(path), 0o755 if path.suffix == ".so" else 0o644)
    return package, library / "ensurepip" / "_bundled"


def pip_package(wheel: Path) -> Package:
    """Pip as a package that works with every Python."""
    package = Package(_index("pip", wheel.name.split("-")[1], "0", ["python"], "noarch") | {"noarch": "python"})
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith(("/", "/RECORD")):
                package.files[f"site-packages/{name}"] = (archive.read(name), 0o644)
    link = {"noarch": {"type": "python", "entry_points": ["pip = pip._internal.cli.main:main"]}}
    package.extra["info/link.json"] = json.dumps({**link, "package_metadata_version": 1})
    return package


def make_channel(channel: Path, python: Path) -> None:
    """Write the channel's two packages and its index."""
    package, wheels = python_package(python)
    (wheel,) = wheels.glob("pip-*.whl")
    index: dict[str, dict[str, Any]] = {subdir: {} for subdir in SUBDIRS}
    for made in (package, pip_package(wheel)):
        name, record = made.write(channel)
        index[made.index["subdir"]][name] = record
    for subdir, packages in index.items():
        (channel / subdir).mkdir(parents=True, exist_ok=True)
        repodata = {"info": {"subdir": subdir}, "packages": packages, "packages.conda": {}, "repodata_version": 1}
        (channel / subdir / "repodata.json").write_text(json.dumps(repodata))
