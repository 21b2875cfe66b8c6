"""Where a line is indexed: records in, acknowledged rows out, each template embedded once."""
