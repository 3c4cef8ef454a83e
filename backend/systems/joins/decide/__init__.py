"""What is decided of one join, as pure numbers: no tuples, no store, no host. [B05] chapter 5."""
