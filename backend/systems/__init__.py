"""Systems: one paper = one package. Pure code: events in, records and instructions out."""
