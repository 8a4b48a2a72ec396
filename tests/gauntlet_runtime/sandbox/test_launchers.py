"""The folder that starts participants' images: one for each base image, of which few are kept."""

from __future__ import annotations

import os

from gauntlet_runtime.sandbox.launcher import PRIVATE, find_launcher


def test_those_of_earlier_base_images_are_dropped_but_for_the_last(images_folder, tmp_path):
    images = tmp_path / "images"
    images.mkdir()
    (images / "gauntlet").symlink_to(images_folder / "gauntlet")
    find_launcher(images)
    [made] = (images / ".launcher").iterdir()
    made.rename(made.with_name("earlier"))
    for age, name in enumerate(("older", "oldest", ".making-just-now", ".making-abandoned")):
        (images / ".launcher" / name).mkdir()
        if name != ".making-just-now":
            os.utime(images / ".launcher" / name, (age + 1, 1_000_000 - age))
    find_launcher(images)
    kept = {made.name, "earlier", ".making-just-now"}
    assert {path.name for path in (images / ".launcher").iterdir()} == kept
    find_launcher(images)
    assert {path.name for path in (images / ".launcher").iterdir()} == kept


def test_one_that_was_made_before_the_machine_went_down_is_made_anew(images_folder, tmp_path, machine_starts_anew):
    images = tmp_path / "images"
    images.mkdir()
    (images / "gauntlet").symlink_to(images_folder / "gauntlet")
    find_launcher(images)
    [lost] = (images / ".launcher").iterdir()
    (lost / "enter").write_bytes(b"")  # it never reached the disk
    machine_starts_anew()
    assert (find_launcher(images).mounts()[PRIVATE] / "enter").stat().st_size > 0
