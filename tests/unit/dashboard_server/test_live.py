"""The hub: one poller, many clients, nothing lost in silence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dashboard.serving.deltas import ALL_NEWS, Delta
from dashboard.serving.live import (
    STREAMS_OF_BROWSER,
    Client,
    Hub,
    HubFull,
    UnknownRunError,
)
from tests.unit.dashboard_server.site import BEARER, Site


@pytest.fixture
def hub(site: Site) -> Iterator[Hub]:
    """A hub whose poller is turned by hand: ``tick()``."""
    hub = Hub(site.services.reader, max_clients=3)
    yield hub
    hub.stop()


def taken(client: Client) -> Delta:
    delta, gap = client.take(0)
    assert delta is not None
    assert not gap
    return delta


def test_a_client_gets_a_snapshot_then_each_batch_once(site: Site, hub: Hub) -> None:
    client, first = hub.join("r1")
    assert first is not None
    assert first["b"] == 2
    hub.tick()
    assert client.take(0) == (None, False)
    site.recording.write()
    hub.tick()
    assert taken(client)["b"] == 3
    hub.tick()
    assert client.take(0) == (None, False)


def test_all_clients_get_the_same_delta(site: Site, hub: Hub) -> None:
    clients = [hub.join("r1")[0] for _ in range(3)]
    site.recording.write()
    hub.tick()
    assert len({json.dumps(taken(client)) for client in clients}) == 1


def test_a_browser_keeps_connections_for_its_other_requests(site: Site) -> None:
    hub = Hub(site.services.reader, max_clients=9)
    clients = [hub.join("r1", None, "one")[0] for _ in range(STREAMS_OF_BROWSER)]
    with pytest.raises(HubFull):
        hub.join("r1", None, "one")
    hub.join("r1", None, "another")
    hub.join("r1")
    hub.leave(clients[0])
    hub.join("r1", None, "one")
    hub.stop()


def test_a_client_too_many_is_refused_until_one_leaves(hub: Hub) -> None:
    clients = [hub.join("r1")[0] for _ in range(3)]
    with pytest.raises(HubFull):
        hub.join("r1")
    hub.leave(clients[0])
    hub.leave(clients[0])
    assert hub.n_clients == 2
    hub.join("r1")


def test_an_unknown_run_is_refused(hub: Hub) -> None:
    with pytest.raises(UnknownRunError):
        hub.join("nowhere")
    with pytest.raises(UnknownRunError):
        hub.since("nowhere", None)
    assert hub.n_clients == 0


def test_what_waits_for_a_slow_client_comes_as_one(site: Site, hub: Hub) -> None:
    client, _ = hub.join("r1")
    for _ in range(4):
        site.recording.write()
        hub.tick()
    delta = taken(client)
    assert [point[0] for point in delta["pts"]] == [3, 4, 5, 6]


def test_a_client_that_sleeps_gets_a_snapshot_with_a_gap(site: Site, hub: Hub) -> None:
    client, first = hub.join("r1")
    events = hub.stream(client, first)
    next(events)
    next(events)
    site.recording.write()
    hub.tick()
    delta = taken(client)
    for c in range(100):
        client.put({**delta, "c": delta["c"] + c})
    event = next(events).decode()
    told = json.loads(event.split("data: ")[1])
    assert (told["gap"], told["b"], told["new"]) == (True, 3, list(ALL_NEWS))


def test_a_reconnecting_client_gets_what_it_missed(site: Site, hub: Hub) -> None:
    client, first = hub.join("r1")
    assert first is not None
    for _ in range(2):
        site.recording.write()
        hub.tick()
    hub.leave(client)
    _, missed = hub.join("r1", first["c"])
    assert missed is not None
    assert [point[0] for point in missed["pts"]] == [3, 4]
    assert "gap" not in missed
    assert hub.join("r1", missed["c"])[1] is None


@pytest.mark.parametrize("cursor", [0, 10**9])
def test_a_cursor_that_is_not_kept_gives_a_gap(site: Site, hub: Hub, cursor: int) -> None:
    hub.join("r1")
    _, delta = hub.join("r1", cursor)
    assert delta is not None
    assert delta["gap"] is True


def test_polling_tells_the_same_as_the_stream(site: Site, hub: Hub) -> None:
    client, _ = hub.join("r1")
    (delta,) = hub.since("r1", None)
    points: list[Any] = []
    streamed: list[Any] = []
    for n in (1, 3, 2):
        for _ in range(n):
            site.recording.write()
            hub.tick()
        (delta,) = hub.since("r1", delta["c"])
        points += delta["pts"]
        streamed += taken(client)["pts"]
    assert points == streamed
    assert hub.since("r1", delta["c"]) == []


def test_a_command_of_this_process_is_told_to_all(site: Site, hub: Hub) -> None:
    client, _ = hub.join("r1")
    site.browser().post(
        "/api/v1/runs/r1/commands", json={"knob": "mu", "value": 0.2}, headers=BEARER
    )
    hub.tick()
    assert taken(client)["new"] == ["commands"]
    site.answer_commands()
    hub.tick()
    delta = taken(client)
    assert {"commands", "knobs", "events"} <= set(delta["new"])
    assert delta["kv"] == 1


def test_the_end_of_a_run_is_told(site: Site, hub: Hub) -> None:
    client, _ = hub.join("r1")
    site.writer.set_state("r1", "ended", "done", 5.0)
    hub.tick()
    assert (taken(client)["st"], client.take(0)) == ("ended", (None, False))


def test_runs_nobody_looks_at_cost_nothing(site: Site, hub: Hub) -> None:
    hub.tick()
    site.recording.write()
    hub.tick()
    assert hub._feeds == {}
    client, first = hub.join("r1")
    assert first is not None
    hub.tick()
    assert client.take(0) == (None, False)


def test_stopping_ends_all_streams(hub: Hub) -> None:
    client, first = hub.join("r1")
    events = hub.stream(client, first)
    assert len([next(events), next(events)]) == 2
    hub.stop()
    assert list(events) == []
    with pytest.raises(HubFull):
        hub.join("r1")


def test_a_quiet_stream_beats(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.serving.live.HEARTBEAT_S", 0.01)
    client, first = hub.join("r1")
    events = hub.stream(client, first)
    assert [next(events)[:6] for _ in range(3)] == [b"retry:", b"id: 4\n", b": stil"]


def test_asking_for_the_head_of_a_stream_keeps_no_place(site: Site) -> None:
    with site.browser().head("/live?run=r1") as answer:
        assert answer.status_code == 200
    assert site.services.live.n_clients == 0


def test_who_else_looks_is_told_by_name_each_browser_once(hub: Hub) -> None:
    ann, _ = hub.join("r1", browser="a", name="Ann")
    assert (ann.has_met(), hub.others(ann)) == (False, [])
    other, _ = hub.join("r1", browser="b", name="Bo")
    assert (other.has_met(), other.has_met()) == (True, False)
    again, _ = hub.join("r1", browser="b", name="Bo")
    assert (ann.has_met(), hub.others(ann), hub.others(again)) == (True, ["Bo"], ["Ann"])
    hub.leave(again)
    assert (ann.has_met(), hub.others(ann)) == (True, ["Bo"])
    hub.leave(other)
    assert (ann.has_met(), hub.others(ann)) == (True, [])


def test_own_tabs_and_those_without_a_name(hub: Hub) -> None:
    one, _ = hub.join("r1", browser="a", name="Ann")
    hub.join("r1", browser="a", name="Ann")
    hub.join("r1")
    assert hub.others(one) == [""]


def test_the_stream_says_who_else_looks(hub: Hub) -> None:
    one, first = hub.join("r1", browser="a")
    hub.join("r1", browser="b", name="Bo")
    events = hub.stream(one, first)
    told = [next(events) for _ in range(3)]
    assert told[2] == b'event: present\ndata: ["Bo"]\n\n'
