"""In which order operators run so that little waits in queues. [B05] chapter 2; Chain, Greedy."""
