"""Text processing: words, stems, queries, dates, names, trigrams and classification, without a model."""
