"""Make the sandbox images without a registry: `python sandbox_images/build.py [--docker] [--only base,agent]`.

Needs mmdebstrap, pip's ordinary configuration, and Python 3.11. Images go to GAUNTLET_IMAGES (./var/images):

    gauntlet/agent/<digest>/rootfs/      the tree, root-owned, never changed once it is there
    gauntlet/agent/<digest>/config.json  command, environment, working directory, user, digest
    gauntlet/agent/current               a link to the digest in use

What is up to date is left alone. With --docker each image is also imported into Docker as <name>:current.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from recipe import IMAGES, BuildError, Image, Layer

DIGEST_LABEL = "org.gauntlet.digest"
KEPT_DIGESTS = 2  # the current one, and the one that running sandboxes may still be bound to


def say(text: str) -> None:
    """One line of progress."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def images_folder() -> Path:
    """Where images are installed."""
    return Path(os.environ.get("GAUNTLET_IMAGES", "var/images")).resolve()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Two builds at once would make everything twice, and take each other's half-made trees for whole."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _link_tree(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-al", str(source), str(target)], check=True)


def _remove(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)


def layer_tree(layer: Layer, layers: Path) -> Path:
    """The finished tree of a layer, made now if it is not there for the present inputs."""
    inputs = layer.inputs_digest()
    finished = layers / f"{layer.name}-{inputs[:24]}"
    if finished.is_dir():
        return finished
    below = layer_tree(layer.parent, layers) if layer.parent is not None else None
    started = time.monotonic()
    say(f"  {layer.name}: making it …")
    draft = layers / f".draft-{uuid.uuid4().hex}"
    try:
        if below is not None:
            _link_tree(below, draft)
        layer.make(draft)
        draft.rename(finished)
    finally:
        _remove(draft)
    for old in layers.glob(f"{layer.name}-{'?' * 24}"):
        if old != finished:
            _remove(old)
    say(f"  {layer.name}: {time.monotonic() - started:.1f} s")
    return finished


def content_digest(tree: Path) -> str:
    """sha256 over names, modes, link targets and contents, in one order; owners and dates do not count."""
    archive = [
        "tar", "--create", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner",
        "--hard-dereference", "--format=gnu", "-C", str(tree), ".",
    ]  # fmt: skip
    with subprocess.Popen(archive, stdout=subprocess.PIPE) as tar:
        done = subprocess.run(["sha256sum"], stdin=tar.stdout, stdout=subprocess.PIPE, check=True)
    if tar.returncode != 0:
        raise BuildError(f"tar could not read {tree}")
    return done.stdout.split()[0].decode("ascii")


def install(image: Image, images: Path) -> Path:
    """Put the image's tree and config into their place; return the folder, named by the digest."""
    home = images / image.name
    tree = layer_tree(image.layer, images / ".layers")
    inputs = image.layer.inputs_digest()
    config = {
        "name": image.name,
        "command": list(image.command),
        "environment": dict(image.environment),
        "working_directory": image.working_directory,
        "user": "",  # every sandbox has a uid of its own
        "inputs": inputs,
    }
    current = home / "current"
    if current.exists():
        known = json.loads((current / "config.json").read_text(encoding="utf-8"))
        if {key: known.get(key) for key in config} == config:
            say(f"{image.name}: up to date (sha256:{current.resolve().name})")
            return current.resolve()
    started = time.monotonic()
    digest = content_digest(tree)
    folder = home / digest
    home.mkdir(parents=True, exist_ok=True)
    if not folder.exists():
        draft = home / f".draft-{uuid.uuid4().hex}"
        draft.mkdir()
        _link_tree(tree, draft / "rootfs")
        draft.rename(folder)
    _replace_text(folder / "config.json", json.dumps({**config, "digest": f"sha256:{digest}"}, indent=2) + "\n")
    _point(current, digest)
    _forget_old(home, keep=folder)
    say(f"{image.name}: installed sha256:{digest} in {time.monotonic() - started:.1f} s")
    return folder


def _replace_text(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _point(link: Path, target: str) -> None:
    draft = link.with_name(f".{link.name}-{uuid.uuid4().hex}")
    draft.symlink_to(target)
    draft.replace(link)


def _forget_old(home: Path, *, keep: Path) -> None:
    os.utime(keep)
    folders = [path for path in home.iterdir() if path.is_dir() and not path.is_symlink()]
    for old in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT_DIGESTS:]:
        _remove(old)


def import_into_docker(image: Image, folder: Path) -> None:
    """Give Docker the same tree and config as <name>:current, unless it has that digest already."""
    import docker  # only this option needs it

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    try:
        client = docker.from_env()
    except docker.errors.DockerException as error:
        raise BuildError(f"Docker does not answer ({error}); start it, or set DOCKER_HOST") from error
    with contextlib.closing(client):
        try:
            known = client.images.get(f"{image.name}:current").labels.get(DIGEST_LABEL)
        except docker.errors.ImageNotFound:
            known = None
        if known == config["digest"]:
            say(f"{image.name}: Docker has it")
            return
        started = time.monotonic()
        changes = [f"LABEL {DIGEST_LABEL}={config['digest']}", f"CMD {json.dumps(config['command'])}"]
        changes += [f"ENV {key}={value}" for key, value in config["environment"].items()]
        changes.append(f"WORKDIR {config['working_directory']}")
        archive = ["tar", "--create", "--owner=0", "--group=0", "--numeric-owner", "-C", str(folder / "rootfs"), "."]
        with subprocess.Popen(archive, stdout=subprocess.PIPE) as tar:
            answer = client.api.import_image_from_stream(
                tar.stdout, repository=image.name, tag="current", changes=changes
            )
        if '"error"' in str(answer):
            raise BuildError(f"Docker refused the image: {answer}")
        say(f"{image.name}: imported into Docker as {image.name}:current in {time.monotonic() - started:.1f} s")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what was asked for; 1 where something is missing, with the line that brings it."""
    parser = argparse.ArgumentParser(description="Make the sandbox images without a registry.")
    parser.add_argument("--docker", action="store_true", help="also import the images into Docker")
    parser.add_argument("--only", default="base,agent,scorer", help="which images, comma-separated")
    options = parser.parse_args(arguments)
    wanted = {f"gauntlet/{name}" for name in options.only.split(",")}
    unknown = wanted - {image.name for image in IMAGES}
    if unknown:
        parser.error(f"unknown image: {', '.join(sorted(unknown))}")
    images = images_folder()
    os.umask(0o022)  # the trees must be readable by the sandboxes' uids
    try:
        with _locked(images):
            for image in IMAGES:
                if image.name in wanted:
                    folder = install(image, images)
                    if options.docker:
                        import_into_docker(image, folder)
    except BuildError as error:
        say(f"sandbox images: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
