"""Reports: blocks of text, tables and figures, as Markdown or as one page of HTML."""
