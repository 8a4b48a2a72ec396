"""What starts a program in a participant's image: programs of the operator's own base image.

Under bubblewrap, until the sandbox's uid is taken on, whatever runs is root with the right to change the uid. So
nothing of the image may be run, loaded or read by it: no shell, no dynamic loader, no library, no
`/etc/ld.so.preload`, and no `/etc/passwd` either, where `setpriv` looks for a user whose *name* is the number that it
is given.

So a private folder is bound into the sandbox, read-only: the base image's loader, which is started by name and finds
its libraries by its command line, a Perl (of every Debian's base system) that makes the system calls and nothing else,
and a shell that waits at the gate after them. Under Docker, which takes on the uid by itself, the shell is what holds
the container: an image may have none, or one that ends the container and lets it look like the platform's fault.
"""

from __future__ import annotations

import platform
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gauntlet_runtime.boot import this_boot
from gauntlet_runtime.sandbox.images import InstalledImage, installed_image
from gauntlet_runtime.sandbox.interface import ImageUnavailable

PRIVATE: Final = "/.gauntlet"  # in the sandbox; `container_images.check` refuses an image that has it
BASE: Final = "gauntlet/base"
_SHELL: Final = "sh"  # the name that the supervisor waits for (launch.py)
_PRELOAD: Final = b"/etc/ld.so.preload\0"
_NO_PRELOAD: Final = b"/.gauntlet/preload\0"  # a name of ours that nobody can make a file of
_LAST_CAPABILITY: Final = 63
_DRAFT: Final = ".making-"
_ABANDONED_SECONDS: Final = 3600.0


@dataclass(frozen=True, kw_only=True)
class _Machine:
    """Where Debian keeps what, and the numbers of the system calls (`asm/unistd.h`)."""

    loader: str
    libraries: str
    setgroups: int
    setresgid: int
    setresuid: int
    prctl: int
    capset: int


_MACHINES: Final = {
    "x86_64": _Machine(
        loader="usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
        libraries="usr/lib/x86_64-linux-gnu",
        setgroups=116,
        setresgid=119,
        setresuid=117,
        prctl=157,
        capset=126,
    ),
    "aarch64": _Machine(
        loader="usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1",
        libraries="usr/lib/aarch64-linux-gnu",
        setgroups=159,
        setresgid=149,
        setresuid=147,
        prctl=167,
        capset=91,
    ),
}
# As `setpriv --reuid --regid --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs` does it, by number.
# PR_CAPBSET_DROP 24, PR_SET_NO_NEW_PRIVS 38, PR_CAP_AMBIENT 47 with CLEAR_ALL 4, capability header version 3.
_BECOME: Final = """
sub must {{ my ($what, $answer) = @_; if ($answer != 0) {{ print STDERR "$what: $!\\n"; exit 125 }} }}
for my $one (0..{last}) {{ syscall({prctl}, 24, $one, 0, 0, 0) }}
must("groups", syscall({setgroups}, 0, 0));
must("gid", syscall({setresgid}, {uid}, {uid}, {uid}));
must("uid", syscall({setresuid}, {uid}, {uid}, {uid}));
must("ambient", syscall({prctl}, 47, 4, 0, 0, 0));
my ($head, $none) = (pack("LL", 0x20080522, 0), pack("L6", 0, 0, 0, 0, 0, 0));
must("capabilities", syscall({capset}, $head, $none));
must("privileges", syscall({prctl}, 38, 1, 0, 0, 0));
exec {{ $ARGV[0] }} @ARGV;
print STDERR "exec: $!\\n"; exit 125
"""


class Launcher:
    """The launcher of one base image, ready to be bound."""

    def __init__(self, folder: Path, libraries: Path, machine: _Machine) -> None:
        self._folder = folder
        self._libraries = libraries
        self._machine = machine

    def mounts(self) -> dict[str, Path]:
        """What is to be bound, read-only: place in the sandbox, folder of the host; in this order."""
        return {PRIVATE: self._folder, f"{PRIVATE}/lib": self._libraries}

    def arguments(self) -> list[str]:
        """bubblewrap's arguments for the mounts; they come before the root is made read-only."""
        made = ["--perms", "0755", "--dir", PRIVATE]
        return made + [word for place, source in self.mounts().items() for word in ("--ro-bind", str(source), place)]

    def become(self, uid: int) -> list[str]:
        """The command that turns root with the right to change the uid into that uid without any, for good."""
        numbers = vars(self._machine)
        script = _BECOME.format(last=_LAST_CAPABILITY, uid=uid, **numbers)
        return [*_loaded("enter", "perl"), "-e", script, "--"]

    def shell(self) -> list[str]:
        """The shell that waits at the gate."""
        return _loaded(_SHELL, "dash")


def _loaded(loader: str, program: str) -> list[str]:
    options = ["--inhibit-cache", "--library-path", f"{PRIVATE}/lib"]
    return [f"{PRIVATE}/{loader}", *options, f"{PRIVATE}/{program}"]


def find_launcher(images: Path) -> Launcher:
    """The launcher from the base image that is installed in this folder, made now where it is missing.

    Raises:
        ImageUnavailable: there is no base image, or it lacks what is needed.
    """
    base = installed_image(BASE, folder=images)
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise ImageUnavailable(f"participants' images cannot be started on {platform.machine()} under bubblewrap")
    folder = images / ".launcher" / f"{base.digest.removeprefix('sha256:')}-{this_boot()}"
    if not folder.is_dir():
        _make(base, machine, folder)
        _drop_replaced(folder)
    return Launcher(folder, base.rootfs / machine.libraries, machine)


def _make(base: InstalledImage, machine: _Machine, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=_DRAFT, dir=folder.parent) as making:
        draft = Path(making) / "launcher"
        draft.mkdir()
        (draft / "lib").mkdir()
        try:
            loader = (base.rootfs / machine.loader).read_bytes()
            for program in ("perl", "dash"):
                shutil.copyfile(base.rootfs / "usr/bin" / program, draft / program)
        except OSError as error:
            raise ImageUnavailable(f"image {BASE} lacks what starts participants' images: {error}") from error
        if loader.count(_PRELOAD) != 1:
            raise ImageUnavailable(f"image {BASE} has a dynamic loader that cannot be kept from /etc/ld.so.preload")
        for name in ("enter", _SHELL):
            (draft / name).write_bytes(loader.replace(_PRELOAD, _NO_PRELOAD))
        for path in (draft, *draft.iterdir()):
            path.chmod(0o755)
        try:
            draft.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another worker was faster
                raise


def _drop_replaced(newest: Path) -> None:
    """Remove those of earlier base images, and what nobody came to the end of making.

    All but one: a sandbox may just be starting with the one that was the newest until now.
    """
    others = [path for path in newest.parent.iterdir() if path != newest]
    drafts = [path for path in others if path.name.startswith(_DRAFT)]
    replaced = sorted((path for path in others if path not in drafts), key=lambda path: path.stat().st_mtime)
    abandoned = [path for path in drafts if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS]
    for path in (*replaced[:-1], *abandoned):
        shutil.rmtree(path, ignore_errors=True)
