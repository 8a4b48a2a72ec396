"""What goes into the images: layers of plain folders, each made from named inputs.

A layer is remade only when its inputs change: the layer under it, this file, its requirement lists, the constraints or
the sources that it carries. Its files are hard links to those of the layer under it, so three images cost little more
disk and page cache than the largest.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import py_compile
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
SUITE = "bookworm"
PYTHON = (3, 11)  # the suite's Python: wheels and compiled files must be made for the same one
VENV = "opt/venv"
SITE_PACKAGES = f"{VENV}/lib/python{PYTHON[0]}.{PYTHON[1]}/site-packages"

# What a base system carries and no sandboxed program reads.
UNWANTED = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/lintian",
    "var/cache",
    "var/log",
    "var/lib/apt/lists",
    "dev",
)


class BuildError(Exception):
    """An image cannot be made; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One step of an image: a function that changes a tree, and everything that its outcome depends on."""

    name: str
    make: Callable[[Path], None]
    parent: Layer | None = None
    files: tuple[Path, ...] = ()  # inputs: files, and folders of Python sources
    words: tuple[str, ...] = ()  # inputs that are no files

    def inputs_digest(self) -> str:
        """A digest of everything this layer is made from (hexadecimal, sha256)."""
        digest = hashlib.sha256()
        if self.parent is not None:
            digest.update(self.parent.inputs_digest().encode())
        for word in (self.name, *self.words):
            digest.update(word.encode() + b"\0")
        for path in _source_files(self.files):
            digest.update(path.relative_to(REPOSITORY).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Image:
    """A layer with the small config that a backend needs to start a program in it."""

    name: str
    layer: Layer
    environment: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ("python3",)
    working_directory: str = "/"


def _source_files(paths: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += [
                inner
                for inner in path.rglob("*")
                if inner.is_file() and "__pycache__" not in inner.parts and not _is_build_product(inner, path)
            ]
        else:
            found.append(path)
    return sorted(found)


def _is_build_product(path: Path, root: Path) -> bool:
    return any(part.endswith(".egg-info") or part in {"build", "dist"} for part in path.relative_to(root).parts)


def _require(program: str, package: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise BuildError(f"{program} is missing; as root run: apt-get install -y {package}")
    return found


def words_of(path: Path) -> list[str]:
    """The lines of a requirement list, without comments."""
    lines = (line.split("#", 1)[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


# --- the base system ---------------------------------------------------------------------------------------------


def apt_sources() -> list[str]:
    """The host's own package sources for the suite; mmdebstrap's default mirror where the host has none."""
    folder = Path("/etc/apt/sources.list.d")
    candidates = [Path("/etc/apt/sources.list"), *sorted(folder.glob("*.list")), *sorted(folder.glob("*.sources"))]
    one_line = re.compile(rf"^deb\s.*\s{SUITE}(-updates|-security|/updates)?\s+(\S+\s+)*main\b", re.MULTILINE)
    deb822 = re.compile(rf"^Suites:.*\b{SUITE}\b(?s:.*?)^Components:.*\bmain\b", re.MULTILINE)
    found = []
    for path in candidates:
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            if (deb822 if path.suffix == ".sources" else one_line).search(text):
                found.append(str(path))
    return found


def make_base(tree: Path) -> None:
    """A minimal Debian with Python, unpacked into ``tree``."""
    mmdebstrap = _require("mmdebstrap", "mmdebstrap")
    if os.geteuid() != 0:
        _require("newuidmap", "uidmap")
    command = [
        mmdebstrap,
        "--mode=root" if os.geteuid() == 0 else "--mode=unshare",
        "--variant=minbase",
        "--format=tar",
        "--include=" + ",".join(words_of(HERE / "base" / "packages.txt")),
        # A machine whose package sources are a dated snapshot is still a machine.
        "--aptopt=Acquire::Check-Valid-Until false",
        *(f"--dpkgopt=path-exclude=/{path}/*" for path in UNWANTED if path.startswith("usr/share")),
        SUITE,
        "-",
        *apt_sources(),
    ]
    with tempfile.TemporaryFile() as archive:
        done = subprocess.run(command, stdout=archive, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise BuildError("mmdebstrap failed:\n" + done.stderr.decode(errors="replace")[-4000:])
        archive.seek(0)
        tree.mkdir(parents=True)
        exclude = [f"--exclude=./{path}/*" for path in UNWANTED]
        subprocess.run(["tar", "-x", "-C", str(tree), *exclude], stdin=archive, check=True)
    _drop_privileged_modes(tree)
    _remove_traces_of_the_host(tree)


def _drop_privileged_modes(tree: Path) -> None:
    """No file of an image is setuid or setgid, and whoever built it can read and remove all of it."""
    for folder, folders, files in os.walk(tree):
        for name in (*folders, *files):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode):
                readable = 0o555 if stat.S_ISDIR(mode) else 0o444
                path.chmod(stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID) | readable)


def _remove_traces_of_the_host(tree: Path) -> None:
    for name in ("etc/hostname", "etc/resolv.conf", "etc/machine-id", "etc/apt/sources.list"):
        (tree / name).unlink(missing_ok=True)
    shutil.rmtree(tree / "etc/apt/sources.list.d", ignore_errors=True)
    # Both would hold the password hashes of nobody; a program of an image has no business there.
    for name in ("etc/shadow", "etc/gshadow", "etc/shadow-", "etc/gshadow-", "etc/passwd-", "etc/group-"):
        (tree / name).unlink(missing_ok=True)
    (tree / "etc/hosts").write_text("127.0.0.1 localhost\n", encoding="ascii")


# --- the virtual environments ------------------------------------------------------------------------------------


def make_venv(tree: Path) -> None:
    """An empty virtual environment whose interpreter is the image's own."""
    python = f"python{PYTHON[0]}.{PYTHON[1]}"
    (tree / SITE_PACKAGES).mkdir(parents=True)
    bin_folder = tree / VENV / "bin"
    bin_folder.mkdir()
    (bin_folder / python).symlink_to(f"/usr/bin/{python}")
    (bin_folder / "python3").symlink_to(python)
    (bin_folder / "python").symlink_to(python)
    (tree / VENV / "pyvenv.cfg").write_text(
        f"home = /usr/bin\ninclude-system-site-packages = false\nexecutable = /usr/bin/{python}\n", encoding="ascii"
    )


def pip_install(tree: Path, arguments: list[str]) -> None:
    """Install into the image's virtual environment with this interpreter's pip and its configuration."""
    if sys.version_info[:2] != PYTHON:
        raise BuildError(f"run this with Python {PYTHON[0]}.{PYTHON[1]}: the images' packages are made for it")
    packages = tree / SITE_PACKAGES
    before = set(packages.iterdir())
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(packages)]
    command += ["--constraint", str(HERE / "constraints.txt"), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise BuildError("pip failed:\n" + done.stdout.decode(errors="replace")[-4000:])
    for origin in packages.glob("*.dist-info/direct_url.json"):
        origin.unlink()  # names a folder of this machine
    _move_scripts(packages / "bin", tree / VENV / "bin")
    _compile(tree, sorted(set(packages.iterdir()) - before))


def _move_scripts(scripts: Path, into: Path) -> None:
    """pip wrote this machine's interpreter into the scripts; give them the image's."""
    if not scripts.is_dir():
        return
    for script in scripts.iterdir():
        content = script.read_bytes()
        if content.startswith(b"#!"):
            content = f"#!/{VENV}/bin/python\n".encode() + content.partition(b"\n")[2]
        target = into / script.name
        target.unlink(missing_ok=True)  # never write through a link shared with the layer below
        target.write_bytes(content)
        target.chmod(0o755)
    shutil.rmtree(scripts)


def _compile(tree: Path, added: list[Path]) -> None:
    """Compiled files that need no look at their source's date: a read-only image is never compiled again."""
    for path in added:
        compiler = compileall.compile_dir if path.is_dir() else compileall.compile_file
        compiler(
            path,
            quiet=2,
            stripdir=str(tree),
            prependdir="/",
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )


def requirements(name: str) -> Callable[[Path], None]:
    """A step that installs an image's requirement list."""

    def make(tree: Path) -> None:
        make_venv(tree)
        pip_install(tree, ["--requirement", str(HERE / name / "requirements.txt")])
        extra = HERE / name / "requirements-no-deps.txt"
        if extra.exists():
            pip_install(tree, ["--no-deps", "--requirement", str(extra)])

    return make


def own_package(source: Path) -> Callable[[Path], None]:
    """A step that installs one of the repository's packages, without its dependencies: they lie one layer below."""

    def make(tree: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:  # a build in the source tree would leave folders there
            copy = Path(folder) / "source"
            ignore = shutil.ignore_patterns("*.egg-info", "build", "dist", "__pycache__")
            shutil.copytree(source, copy, ignore=ignore)
            pip_install(tree, ["--no-deps", str(copy)])

    return make


# --- the images --------------------------------------------------------------------------------------------------

RECIPE = Path(__file__).resolve()
CONSTRAINTS = HERE / "constraints.txt"

BASE = Layer(
    name="base", make=make_base, files=(RECIPE, HERE / "base" / "packages.txt"), words=(SUITE, os.uname().machine)
)


def _packages(name: str) -> Layer:
    lists = tuple(sorted((HERE / name).glob("requirements*.txt")))
    return Layer(name=f"{name}-packages", make=requirements(name), parent=BASE, files=(RECIPE, CONSTRAINTS, *lists))


def _own(name: str, *, source: Path, package: str) -> Layer:
    return Layer(
        name=name,
        make=own_package(source),
        parent=_packages(name),
        files=(RECIPE, source / package, source / "pyproject.toml"),
    )


_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/tmp",  # noqa: S108  the only folder that every program may write to
    "TMPDIR": "/tmp",  # noqa: S108
    "USER": "sandbox",  # the uid has no name in the image, and getpass.getuser() asks for one
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_VENV_ENVIRONMENT = {**_ENVIRONMENT, "PATH": f"/{VENV}/bin:{_ENVIRONMENT['PATH']}", "VIRTUAL_ENV": f"/{VENV}"}

IMAGES = (
    Image(name="gauntlet/base", layer=BASE, environment=_ENVIRONMENT),
    Image(
        name="gauntlet/agent",
        layer=_own("agent", source=REPOSITORY / "starter_kits", package="gauntlet_agent"),
        environment=_VENV_ENVIRONMENT,
        command=("python",),
    ),
    Image(
        name="gauntlet/scorer",
        layer=_own("scorer", source=REPOSITORY / "scoring_programs", package="gauntlet_scoring"),
        environment={**_VENV_ENVIRONMENT, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
        command=("python",),
    ),
)
