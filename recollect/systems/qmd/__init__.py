"""QMD: the alternative search backend that OpenClaw names."""
