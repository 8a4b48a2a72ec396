"""Container images for `gauntlet submit`: saved from Docker and compressed, or an archive that is there already."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, Final, cast

from gauntlet_agent.cli.failure import CommandFailed, Exit
from gauntlet_agent.cli.output import clean, console, size

_CHUNK: Final = 1 << 20
_BLOCKS: Final = 1 << 16  # of a tar: those who read and write a stream copy what they hold at each step
_LEVEL: Final = 3  # of both: an image is mostly libraries, and a connection is rarely faster than this
_TAR: Final = (257, b"ustar")
_COMPRESSED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # gzip, zstd


@contextmanager
def archive_of(image: str) -> Iterator[tuple[IO[bytes], str, int]]:
    """`docker save` of an image, compressed: an open file with its name and size.

    Raises:
        CommandFailed: Docker is missing, does not answer, or has no such image; or there is no room for it.
    """
    docker = shutil.which("docker")
    if docker is None:
        message = "There is no `docker` command on this machine."
        hint = (
            "Install Docker, or save the image where it is (docker save NAME:TAG -o FILE) and use --image-archive FILE."
        )
        raise CommandFailed(message, hints=(hint,), code=Exit.USAGE)
    made, ending = _made(docker, _one_image(docker, image))
    with made:
        length = made.seek(0, os.SEEK_END)
        made.seek(0)
        yield made, f"{_word(image)}{ending}", length


@contextmanager
def opened_archive(path: Path) -> Iterator[tuple[IO[bytes], str, int]]:
    """An archive of an image as it is: an open file with its name and size.

    Raises:
        CommandFailed: there is none, or it is no such archive.
    """
    if not path.is_file():
        raise CommandFailed(f"There is no file at {path}.", code=Exit.USAGE)
    with path.open("rb") as file:
        head = file.read(512)
        where, magic = _TAR
        if not head.startswith(_COMPRESSED) and not head[where:].startswith(magic):
            message = f"{path} is no image archive (a tar, perhaps compressed by gzip or zstd)."
            raise CommandFailed(message, hints=("Make one with: docker save NAME:TAG -o FILE",), code=Exit.USAGE)
        file.seek(0)
        yield file, path.name, os.fstat(file.fileno()).st_size


def _one_image(docker: str, image: str) -> str:
    """What `docker save` has to be told to save the one image that a name means: of a mere name it saves every tag."""
    form = "{{.Id}} {{json .RepoTags}}"
    asked = subprocess.run(
        [docker, "image", "inspect", "--format", form, "--", image], capture_output=True, text=True, check=False
    )
    if asked.returncode == 0:
        if "@" in image or ":" in image.rpartition("/")[2]:
            return image
        latest = f"{image}:latest"
        identity, _, names = asked.stdout.strip().partition(" ")
        is_id = identity.removeprefix("sha256:").startswith(image)
        return image if is_id and not re.search(f'["/]{re.escape(latest)}"', names) else latest
    said = clean(asked.stderr.strip().rpartition("\n")[2])
    if re.search("no such (image|object)", said, re.IGNORECASE):
        hints = ("`docker image ls` shows those that there are.",)
        raise CommandFailed(f"Docker has no image {clean(image)}.", hints=hints, code=Exit.USAGE)
    raise CommandFailed(f"Docker does not give the image {clean(image)}.", hints=(said,))


def _made(docker: str, image: str) -> tuple[IO[bytes], str]:
    """The compressed archive, and the ending of its name."""
    try:
        with contextlib.ExitStack() as stack:
            made = cast(IO[bytes], stack.enter_context(tempfile.TemporaryFile()))
            ending = _save(docker, image, made)
            stack.pop_all()
            return made, ending
    except OSError as error:
        place = tempfile.tempdir or "a folder for temporary files"  # None: there is none that can be written to
        message = f"{clean(image)} cannot be kept in {place} while it is sent: {error.strerror or error}."
        raise CommandFailed(message, hints=("Set TMPDIR to a folder with room for the compressed image.",)) from error


def _save(docker: str, image: str, into: IO[bytes]) -> str:
    """Write the compressed archive; return the ending of its name."""
    ending, compressor = _compressor(into)
    out = console(stderr=True)
    out.print(f"Saving {clean(image)} …")
    with tempfile.TemporaryFile() as errors, compressor as packed:
        with subprocess.Popen([docker, "save", "--", image], stdout=subprocess.PIPE, stderr=errors) as saving:
            assert saving.stdout is not None  # noqa: S101  for the type checker: it is a pipe
            total = _copy_without_times(saving.stdout, packed)
        if saving.returncode != 0:
            errors.seek(0)
            said = clean(errors.read().decode(errors="replace").strip().rpartition("\n")[2])
            raise CommandFailed(f"`docker save {clean(image)}` failed.", hints=(said,))
        if total is None:
            raise CommandFailed(f"`docker save {clean(image)}` wrote no whole tar.")
    into.flush()
    out.print(f"Saved {size(total)}, {size(into.tell())} compressed.")
    return ending


def _copy_without_times(source: IO[bytes], into: Any) -> int | None:
    """Copy a tar as it comes, all but the times of its entries; return its bytes, None where it is no whole tar.

    Docker 25 to 28 write the present time for a folder (moby#51364). Without it the same image gives the same bytes, by
    which a later run knows what it has sent.
    """
    whole = None
    with contextlib.suppress(tarfile.TarError):  # how Docker ended says more
        with (
            tarfile.open(fileobj=source, mode="r|", bufsize=_BLOCKS) as saved,
            tarfile.open(fileobj=into, mode="w|", bufsize=_BLOCKS) as steady,
        ):
            for entry in saved:
                entry.mtime, entry.pax_headers = (
                    0,
                    {},
                )  # an extended header may have times, too; the rest is written anew
                steady.addfile(entry, saved.extractfile(entry) if entry.isreg() else None)
        whole = steady.offset
    while source.read(_CHUNK):  # Docker is not done before all is read, and a tar may end before its file does
        pass
    return whole


def _compressor(into: IO[bytes]) -> tuple[str, AbstractContextManager[Any]]:
    """The ending of a name and a writer: zstd where its package is installed, else gzip."""
    try:
        import zstandard
    except ImportError:
        # Without name and time, for the same reason as in the tar.
        return ".tar.gz", gzip.GzipFile(filename="", fileobj=into, mode="wb", compresslevel=_LEVEL, mtime=0)
    return ".tar.zst", zstandard.ZstdCompressor(level=_LEVEL).stream_writer(into, closefd=False)


def _word(image: str) -> str:
    """A file's name from an image's: the last part, without what files are not called."""
    return re.sub(r"[^\w.-]+", "-", image.rpartition("/")[2]).strip("-.")[:100] or "image"
