"""Text processing: words, stems, queries, times, names, trigrams and classification, without a model."""
