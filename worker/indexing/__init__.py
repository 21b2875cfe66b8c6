"""Where a line is indexed: records in, rows acknowledged, every template embedded once."""
