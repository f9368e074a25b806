"""From a question to explained results: read, cues, fusion, stages, after."""
