import gzip

import pytest

from dlsched.domain.errors import InputError
from dlsched.runner import reading
from dlsched.workload.readers import ReadOptions

TABLE = b"job_id,submit_time_s,num_gpus,duration_s\n" + b"".join(b"j%d,%d,1,60\n" % (n, n) for n in range(50))


def test_small_files_are_read_at_once_and_compressed_ones_count_as_what_they_unpack_to():
    assert reading.is_quick(bytes(reading.SMALL_BYTES))
    assert not reading.is_quick(bytes(reading.SMALL_BYTES + 1))
    assert not reading.is_quick(b"\x1f\x8b" + bytes(reading.SMALL_BYTES // reading.UNPACKED_FACTOR))
    assert reading.about_s(bytes(reading.BYTES_PER_S)) == 1.0


@pytest.mark.slow
def test_a_process_of_its_own_reads_alike_and_refuses_alike(monkeypatch):
    monkeypatch.setattr(reading, "SMALL_BYTES", 0)
    assert len(reading.read_upload(gzip.compress(TABLE), "t.csv.gz", ReadOptions()).workload) == 50
    with pytest.raises(InputError, match="no column was recognised"):
        reading.read_upload(b"a,b\n1,2\n", "t.csv", ReadOptions())
