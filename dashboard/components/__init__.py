"""What pages are made of: panels, tables, tiles, badges, links, charts, and the plan graph."""
