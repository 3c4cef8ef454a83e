"""What an eddy is to its kernel: tables of integers, and room for an element at work."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from backend.operators.network.kinds.eddy import MOST_ATTRIBUTES
from storage.vocabulary.amri_costs import ORDERED_BITS

#: Of bit-address indexes: tuples of a partition (0: there is no such index) and partitions there is
#: room for; bits that a directory tells apart, at most; buckets of the open partition's chains less
#: one; words of a row of partitions; attributes that are compared by order; where codes, numbers of
#: tuples, directories, partitions, chains, of these attributes the cuts of each partition and the
#: values in the open one, facts, the bits of new partitions and room to sort in lie.
SIZE, ROOM, MOST_DEPTH, HEAD_MASK, PARTITION_WORDS, N_ORDERED = range(6)
CODES, NUMBERS, DIRECTORIES, PARTITIONS, HEADS, OLDER, CUTS, SAMPLES = range(6, 14)
FACTS, BITS, SCRATCH = range(14, 17)
N_INDEX: Final = 17
#: Of attributes that are compared by order: values between which there are codes, in a partition.
N_CUT: Final = (1 << ORDERED_BITS) - 1
#: Buckets of a pass of sorting by codes.
DIGITS: Final = 256
#: Facts: tuples below this number are in the index; the partition that takes new ones, -1: none.
LINKED, OPEN = range(2)
N_FACT: Final = 2
#: Of a partition: its number, -1: the place is free; tuples in it; whether it is sealed; bits of
#: its codes, those that its directory tells apart; then the bits of each attribute.
NUMBER, COUNT, SEALED, N_BITS, DEPTH, FIRST_BITS = range(6)
#: Of a search at a level: the partition, how it is searched; the code with wild cards 0 and the
#: least code of each range, the bits that are neither, the wild ones that are enumerated, how many
#: lie below these, how many bits are not wild; the values of the enumerated ones at work, how many
#: are left, of how many; ranges that are enumerated, whether the last bits that are not wild are
#: one, what is added to a code for the last of a stretch; where the search is, and ends.
PART, MODE, FIXED, MASK, WILD, BELOW, N_KNOWN, COMBINATION, LEFT, EACH = range(10)
N_RANGES, ENDS_IN_RANGE, SPAN, AT, END, FIRST_RANGE = range(10, 16)
#: Of a range of codes of an attribute: the least, the largest, the bits that it is in.
LEAST, LARGEST, FIELD = range(3)
N_RANGE: Final = 3
N_SEARCH: Final = FIRST_RANGE + N_RANGE * MOST_ATTRIBUTES
IN_CODES, IN_STRETCHES, IN_CHAINS = range(3)
#: Of steps, behind those of join_kernel: the access pattern, and conditions by order that can be
#: looked at there, as bits; then of each join attribute those that make the range it is asked for
#: by. STEP_INDEX: a hash index, or these.
PATTERN, ORDERED, RANGES = 3, 4, 5
N_STEP: Final = RANGES + MOST_ATTRIBUTES
#: Of conditions by order: the class of the lower value and of the higher one, whether these may not
#: be equal, whether they are floating-point numbers.
LOW, HIGH, IS_STRICT, IS_FLOAT = range(4)
N_CONDITION: Final = 4
#: Of keys, behind those of join_kernel: the place among the attributes of the input that are
#: compared by order, -1: it is none; whether its values are floating-point numbers.
ORDER_PLACE, KEY_IS_FLOAT = 3, 4
SCAN, BY_BITS = -1, -2
#: Of what is counted of requests, behind those of join_kernel: buckets visited; of the tuples
#: compared those of which no more than the code was read; where some are compared by order those
#: that agree in all that is equal, and of these by join attribute those in its range. Of routes.
BUCKETS, CODES_READ, AGREED, IN_RANGE = 3, 4, 5, 6
N_REQUEST: Final = IN_RANGE + MOST_ATTRIBUTES
ELEMENTS, REQUESTS, COMPARED, VISITED, IN_VAIN = range(5)
N_ROUTE: Final = 5


class EddyArrays(NamedTuple):
    """int64 arrays. conditions: [conditions, N_CONDITION];
    steps: [n, routes, n-1, N_STEP] with the first two as one; n_routes: [n];
    numbers: [n], elements of each input so far; explored: [n], of 2^32 elements those that take
    another route; counts: [n, patterns, N_REQUEST]; routes: [n, routes, N_ROUTE]; the rest is of
    the element at work."""

    inputs: Any
    keys: Any
    indexes: Any
    progress: Any
    bits: Any
    conditions: Any
    steps: Any
    n_routes: Any
    numbers: Any
    explored: Any
    counts: Any
    routes: Any
    values: Any
    cursor: Any
    chosen: Any
    tally: Any
    searches: Any


A: Final = EddyArrays(*range(len(EddyArrays._fields)))
