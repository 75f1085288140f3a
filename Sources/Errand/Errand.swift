/// Room laid out; filled by the commits that follow.
