"""ModelArts elastic training: how many nodes every job gets, planned a few steps ahead."""
