"""An agent's own packages: installed offline, once, and mounted for the agent."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import zipfile

from gauntlet_runtime.packages import PackagesRefused, install_packages, wants_packages
from gauntlet_runtime.sandbox import this_process
from gauntlet_scoring.failures import FailureCode


def wheel(name, source, requires=()):
    """A wheel file, by hand: PEP 427."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        + "".join(f"Requires-Dist: {each}\n" for each in requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text.encode())}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return buffer.getvalue()


def bundle(folder, wheels, requirements):
    folder.mkdir()
    (folder / "requirements.txt").write_text(requirements)
    (folder / "wheels").mkdir()
    for name, content in wheels.items():
        (folder / "wheels" / name).write_bytes(content)
    return folder


def install(room, folder):
    return install_packages(
        folder,
        sandbox=room.sandbox,
        cache=room.folder / "packages",
        image="gauntlet/agent",
        owner=this_process(),
        label="test",
    )


WHEELS = {
    "upper-1.0-py3-none-any.whl": wheel("upper", "import lower\nWORD = lower.WORD.upper()\n", ["lower"]),
    "lower-1.0-py3-none-any.whl": wheel("lower", "WORD = 'wheel'\n"),
}


def test_an_agent_uses_what_its_bundle_brings(room):
    more = {f"wheels/{name}": content for name, content in WHEELS.items()} | {"requirements.txt": "upper\n"}
    outcome = room.agent("import upper\nsay(upper.WORD, upper.__file__)\nanswer(next_episode())", more=more)
    assert outcome.said == ["WHEEL", "/app/packages/upper.py"]


def test_the_same_wheels_are_installed_once(room):
    first = install(room, bundle(room.folder / "a", WHEELS, "upper\n"))
    again = install(room, bundle(room.folder / "b", WHEELS, "upper\n"))
    other = install(room, bundle(room.folder / "c", WHEELS, "lower\n"))
    assert first == again
    assert (first / "lower.py").is_file()
    assert other != first
    assert not (other / "upper.py").exists()


def test_what_was_installed_before_the_machine_went_down_is_installed_anew(room, machine_starts_anew):
    lost = install(room, bundle(room.folder / "before", WHEELS, "lower\n"))
    (lost / "lower.py").write_bytes(b"")  # it never reached the disk
    machine_starts_anew()
    assert (install(room, bundle(room.folder / "after", WHEELS, "lower\n")) / "lower.py").stat().st_size > 0


def test_what_nobody_asked_for_in_a_while_is_dropped_by_the_next_who_installs(room):
    old, used = (install(room, bundle(room.folder / word, WHEELS, f"{word}\n")) for word in ("upper", "lower"))
    killed = room.folder / "packages/.installing-x"
    killed.mkdir()
    for folder in (old, used, killed):
        os.utime(folder, (1, 1))
    assert install(room, bundle(room.folder / "again", WHEELS, "lower\n")) == used
    new = install(room, bundle(room.folder / "both", WHEELS, "lower\nupper\n"))
    assert [folder.exists() for folder in (old, used, killed, new)] == [False, True, False, True]


def test_a_package_that_is_not_in_the_bundle_is_refused_in_pips_words(room):
    refused = install(room, bundle(room.folder / "a", WHEELS, "upper\nno_such_package_at_all\n"))
    assert isinstance(refused, PackagesRefused)
    assert refused.failure.code is FailureCode.INVALID_BUNDLE
    assert "no_such_package_at_all" in refused.log
    assert "no_such_package_at_all" not in refused.failure.message
    assert list((room.folder / "packages").glob("[!.]*[!k]")) == []  # nothing but the lock file is left


def test_an_evaluation_with_such_a_bundle_fails_before_an_episode_is_opened(room):
    outcome = room.agent("answer(next_episode())", more={"requirements.txt": "no_such_package_at_all\n"})
    assert outcome.result.failure.code is FailureCode.INVALID_BUNDLE
    assert "no_such_package_at_all" in outcome.result.log
    assert outcome.episodes == []
    assert outcome.events == []


def test_a_bundle_without_requirements_wants_no_packages(tmp_path):
    assert not wants_packages(tmp_path)
