"""By which attributes the tuples of a query can be spread over shards.

Each operator that compares tuples must have all it compares in one shard: joins the tuples with
equal attributes, aggregates their groups, windows [Partition By] their parts, and whatever takes
tuples off against equal ones (distinct, set operations, i- and d-stream, the answer's changes) has
to see the key. A column of each stream that is read says the shard, by the hash of its value. A
stored relation can also be read whole by every shard, where it is only joined to what is spread.
"""

from __future__ import annotations

from dataclasses import replace

from backend.operators.network.core.work import EVERYWHERE, OneShard, OperatorTree


def spread(tree: OperatorTree, is_stream: bool) -> tuple[OperatorTree, str]:
    """The tree with the key of each input, and why so in a sentence; without keys if it must run in
    one shard.

    is_stream: of the answer; the changes of a relation are taken off against each other.
    """
    try:
        ways = [way for way in tree.ways() if not way.whole and (is_stream or way.places)]
        if not ways:
            raise OneShard("equal tuples of the answer could come from different shards")
    except OneShard as reason:
        return tree, f"One shard: {reason}."
    return ways[0].tree, _why(ways[0].tree)


def whole(tree: OperatorTree) -> OperatorTree:
    """The tree without keys, for one shard."""
    return replace(tree, key=None, inputs=tuple(whole(input) for input in tree.inputs))


def _why(tree: OperatorTree) -> str:
    inputs = [node for node in tree.walk() if node.work.reads]
    keyed, whole = [], []
    for input in inputs:
        if input.key is None or input.key == EVERYWHERE:
            whole.append(input.work.reads)
        else:
            keyed.append(f"{input.work.reads}.{input.fields[input.key].name}")
    sentence = f"Tuples with equal values of {' = '.join(dict.fromkeys(keyed))} go to one shard"
    if whole:
        sentence += f"; every shard has all of {', '.join(dict.fromkeys(whole))}"
    return f"{sentence}."
