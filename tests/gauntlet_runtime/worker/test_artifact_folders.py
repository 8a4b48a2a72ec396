"""The artifact cache: checked, unpacked safely, shared, bounded."""

from __future__ import annotations

import fcntl
import io
import os
import resource
import threading
import zipfile
from pathlib import Path

import pytest

from gauntlet_runtime.folders import ArtifactDamaged, ArtifactFolders, _lock
from gauntlet_runtime.jobs import ScoredEpisode
from gauntlet_runtime.programs import lay_out_episodes
from gauntlet_scoring.trajectory import Outcome


def zipped(*entries):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for entry, content in entries:
            archive.writestr(entry, content)
    return buffer.getvalue()


def entry(name, mode):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def test_a_zip_becomes_a_folder_that_anyone_can_read(artifacts, files):
    content = zipped(("a/b.txt", "text"), (entry("run", 0o100755), "x"), (entry("secret", 0o100600), "y"))
    folder = files.folder(artifacts.keep(content))
    assert (folder / "a/b.txt").read_text() == "text"
    assert (folder / "run").stat().st_mode & 0o777 == 0o755
    assert (folder / "secret").stat().st_mode & 0o777 == 0o644
    assert (folder / "a").stat().st_mode & 0o777 == 0o755


def test_a_file_stays_a_file(artifacts, files):
    assert files.file(artifacts.keep(b"plain", form="file")).read_bytes() == b"plain"


@pytest.mark.parametrize(
    "content",
    [
        zipped(("../out", "x")),
        zipped(("/etc/out", "x")),
        zipped(("a\\..\\..\\out", "x")),
        zipped((entry("link", 0o120777), "/etc/passwd")),
        zipped((entry("device", 0o060666), "")),
        zipped(("a", "x"), ("a/b", "x")),
        b"no zip at all",
    ],
)
def test_what_leads_out_or_is_no_zip_is_refused_and_leaves_nothing(artifacts, files, tmp_path, content):
    with pytest.raises(ArtifactDamaged):
        files.folder(artifacts.keep(content))
    assert [path.name for path in (tmp_path / "artifacts").iterdir() if path.is_dir()] == []
    assert not (tmp_path / "out").exists()


def test_a_zip_that_unpacks_to_too_much_is_refused(artifacts, files, monkeypatch):
    monkeypatch.setattr("gauntlet_runtime.folders.UNPACKED_BYTES", 1000)
    with pytest.raises(ArtifactDamaged, match="too much"):
        files.folder(artifacts.keep(zipped(("zeros", bytes(2000)))))


def test_what_was_fetched_must_have_its_digest(artifacts, files):
    artifact = artifacts.keep(zipped(("a", "x")))
    artifacts.content[artifact.digest] = zipped(("a", "changed"))
    with pytest.raises(ArtifactDamaged, match="digest"):
        files.folder(artifact)


def test_it_is_fetched_once_by_whoever_comes_first(artifacts, tmp_path):
    artifact, fetched = artifacts.keep(zipped(("a", "x"))), []

    def fetch(wanted, into):
        fetched.append(wanted.digest)
        artifacts.fetch(wanted, into)

    caches = [ArtifactFolders(tmp_path / "shared", fetch=fetch) for _ in range(8)]
    threads = [threading.Thread(target=cache.folder, args=(artifact,)) for cache in caches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fetched == [artifact.digest]
    assert (caches[0].folder(artifact) / "a").read_text() == "x"


def test_the_least_recently_used_goes_first_and_what_is_in_use_stays(artifacts, tmp_path):
    def cache():
        return ArtifactFolders(tmp_path / "shared", fetch=artifacts.fetch, max_bytes=250_000)

    old, used, new = (artifacts.keep(zipped((name, os.urandom(100_000)))) for name in "abc")
    first, other = cache(), cache()
    places = {name: first.folder(artifact) for name, artifact in (("old", old), ("used", used), ("new", new))}
    for age, place in enumerate((places["new"], places["used"], places["old"])):
        os.utime(place.parent, (1000 - age, 1000 - age))
    assert other.folder(used) == places["used"]
    os.utime(places["used"].parent, (1, 1))  # the oldest, but another worker holds it
    first.release()
    assert [place.exists() for place in places.values()] == [False, True, True]
    assert first.folder(old).exists()  # and it can be had again


def test_what_a_killed_worker_left_half_made_is_removed_when_it_is_old(artifacts, files, tmp_path):
    fresh, old = tmp_path / "artifacts/.making-fresh", tmp_path / "artifacts/.making-old"
    for folder in (fresh, old):
        folder.mkdir()
        (folder / "half").write_text("x")
    os.utime(old, (1, 1))
    files.release()
    assert (fresh.exists(), old.exists()) == (True, False)


def test_what_another_worker_has_just_made_may_go_while_it_is_looked_at(files, tmp_path, monkeypatch):
    """Else about one in two hundred jobs beside others ended its worker's work, until the next ring."""
    made = tmp_path / "artifacts/.making-now"
    made.mkdir()
    is_dir = Path.is_dir

    def look(path):
        found = is_dir(path)
        if path == made:
            made.rmdir()
        return found

    monkeypatch.setattr(Path, "is_dir", look)
    files.release()
    assert not made.exists()


def open_descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_what_is_read_once_leaves_nothing(artifacts, files, tmp_path):
    wanted = [artifacts.keep(zipped(("a", str(number)))) for number in range(20)]
    before = open_descriptors()
    for number, artifact in enumerate(wanted):
        with files.once(artifact) as folder:
            assert (folder / "a").read_text() == str(number)
    assert open_descriptors() == before
    assert list((tmp_path / "artifacts").iterdir()) == []
    broken = artifacts.keep(b"no zip")
    with pytest.raises(ArtifactDamaged), files.once(broken):
        pass
    assert list((tmp_path / "artifacts").iterdir()) == []


def test_what_is_dropped_leaves_no_lock(artifacts, tmp_path):
    folders = ArtifactFolders(tmp_path / "artifacts", fetch=artifacts.fetch, max_bytes=0)
    for number in range(5):
        folders.folder(artifacts.keep(zipped(("a", str(number)))))
    folders.release()
    assert [path.name for path in (tmp_path / "artifacts").iterdir()] == [".evicting"]


def test_many_small_files_count_with_what_they_take_of_the_disk(artifacts, tmp_path):
    folders = ArtifactFolders(tmp_path / "artifacts", fetch=artifacts.fetch, max_bytes=100_000)
    folder = folders.folder(artifacts.keep(zipped(*((f"{number}", "x") for number in range(100)))))
    folders.release()
    assert not folder.exists()


def test_a_lock_that_was_waited_for_and_removed_meanwhile_is_none(artifacts, tmp_path):
    """Who makes an entry removes a lock that others wait for; they must not take it for one that guards anything."""
    place = tmp_path / "lock"
    held, got = _lock(place, fcntl.LOCK_EX), []
    waiting = threading.Thread(target=lambda: got.append(_lock(place, fcntl.LOCK_EX)))
    waiting.start()
    waits = f":{place.stat().st_ino} "
    while not any("->" in line and waits in line for line in Path("/proc/locks").read_text().splitlines()):
        waiting.join(0.01)
    place.unlink()
    os.close(held)
    waiting.join()
    assert os.path.samestat(os.fstat(got[0]), place.stat())
    with pytest.raises(BlockingIOError):
        _lock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(got[0])


def test_whoever_holds_an_entry_keeps_it_however_others_drop_and_make_it(artifacts, tmp_path):
    artifact = artifacts.keep(zipped(("a", "x" * 1000)))
    read = []

    def use():
        folders = ArtifactFolders(tmp_path / "artifacts", fetch=artifacts.fetch, max_bytes=0)
        for _ in range(100):
            folder = folders.folder(artifact)
            read.append((folder / "a").read_text())
            folders.release()

    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == ["x" * 1000] * 600


def test_an_evaluation_may_have_more_records_than_a_process_may_open_files(artifacts, files, tmp_path):
    episodes = [
        ScoredEpisode(
            episode=f"e{number}",
            key=f"K{number}",
            trial=1,
            outcome=Outcome.ANSWERED,
            trajectory=artifacts.keep(zipped(("trajectory.jsonl", f"{number}\n"), ("blobs/b", "x"))),
        )
        for number in range(100)
    ]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_descriptors() + 50, hard))
    try:
        lay_out_episodes(episodes, into=tmp_path / "res", files=files)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (tmp_path / "res/trajectories/e99.jsonl").read_text() == "99\n"
    assert list((tmp_path / "artifacts").iterdir()) == []  # nobody asks for a record again


def test_what_was_unpacked_before_the_machine_went_down_is_taken_for_nothing(artifacts, tmp_path, machine_starts_anew):
    """It was renamed into its place, but the files in it may never have reached the disk."""

    def cache(**bounds):
        return ArtifactFolders(tmp_path / "shared", fetch=artifacts.fetch, **bounds)

    artifact, other = artifacts.keep(zipped(("agent.py", "print(1)"))), artifacts.keep(zipped(("b", os.urandom(9000))))
    before = cache()
    lost = before.folder(artifact)
    before.release()
    for file in (lost / "agent.py", lost.parent / "size"):
        file.write_bytes(b"")
    machine_starts_anew()
    after = cache(max_bytes=40_000)
    assert (after.folder(artifact) / "agent.py").read_text() == "print(1)"
    after.folder(other)
    os.utime(lost.parent, (1, 1))
    after.release()
    assert (lost.exists(), after.folder(artifact).exists()) == (False, True)
