from dlsched.domain.fingerprint import fingerprint


def test_contents_count_and_the_order_in_which_files_are_found_does_not(tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("a = 1\n")
    two.write_text("b = 2\n")
    before = fingerprint([one, two])
    assert before == fingerprint(iter([two, one])) >= 0
    two.write_text("b = 3\n")
    assert fingerprint([one, two]) not in {before, fingerprint([one])}
