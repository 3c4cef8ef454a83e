"""k-Mon: joins that keep less because of how their streams arrive. [B05] chapter 6"""
