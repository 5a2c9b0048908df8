import os
import stat
from pathlib import Path

from numba import config, njit
from numba.core import caching

from dlsched.domain.fingerprint import FOLDER_VARIABLE, fingerprint, see_to_folder


def test_contents_count_and_the_order_in_which_files_are_found_does_not(tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("a = 1\n")
    two.write_text("b = 2\n")
    before = fingerprint([one, two])
    assert before == fingerprint(iter([two, one])) >= 0
    two.write_text("b = 3\n")
    assert fingerprint([one, two]) not in {before, fingerprint([one])}


def test_the_folder_numba_finds_is_left_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    see_to_folder.__wrapped__()
    assert vars(config)["CACHE_DIR"] == str(tmp_path)
    assert FOLDER_VARIABLE not in os.environ


def test_without_a_folder_code_is_kept_in_a_temporary_one_of_this_user(monkeypatch, tmp_path):
    # as where neither the package nor the home folder can be written
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [caching.UserProvidedCacheLocator])
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    see_to_folder.__wrapped__()
    folder = Path(os.environ[FOLDER_VARIABLE])
    assert folder.parent == tmp_path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    @njit("int64(int64)", cache=True)
    def twice(number):
        return 2 * number

    assert twice(4) == 8
    assert [*folder.rglob("*.nbc")]
