"""How things look on a terminal: lines of spans, tables, and the pages made of them."""
