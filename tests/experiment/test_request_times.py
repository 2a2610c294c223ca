"""The controller's requests in the request logs of both kinds of brokers: recorded lines."""

from __future__ import annotations

import json
from pathlib import Path

from kraft.experiment.request_times import apache_requests, kraft_requests, of_kraft
from kraft.story.experiments.control_plane import TimedRequest

OURS = (
    '{"ms":1795415911444,"node":1,"kind":"request","plane":"control","listener":"CONTROLLER","peer":"127.0.0.1:53882",'
    '"api":"LeaderAndIsr","apiKey":4,"version":7,"client":"0","correlation":13,"sizeBytes":118,"queueMs":0.039,'
    '"localMs":0.036,"responseQueueMs":0.019,"remoteMs":0.299,"sendMs":0.037,"totalMs":0.430,"sample":1.0,"seq":15,'
    '"start":1795415909575}'
)
APACHES = (
    '2026-11-23T06:42:25.044Z Completed request:{"isForwarded":false,"requestHeader":{"requestApiKey":4,'
    '"requestApiVersion":7,"correlationId":176,"clientId":"0","requestApiKeyName":"LEADER_AND_ISR"},"request":'
    '{"controllerId":0,"topicStates":[]},"response":{"errorCode":0,"topics":[]},"connection":"127.0.0.1:45533-'
    '127.0.0.1:60942-0","totalTimeMs":4.583,"requestQueueTimeMs":0.248,"localTimeMs":4.136,"remoteTimeMs":0.0,'
    '"throttleTimeMs":0,"responseQueueTimeMs":0.072,"sendTimeMs":0.125,"securityProtocol":"PLAINTEXT",'
    '"principal":"User:ANONYMOUS","listener":"CONTROLLER"}'
)
OURS_READ = TimedRequest(1, "LeaderAndIsr", "CONTROLLER", 1795415911444, 0.039, 0.430)


def test_both_logs_have_the_times_of_kafkas_request_metrics() -> None:
    """RequestChannel.Request: RequestQueueTimeMs and TotalTimeMs, from the time when the request was read."""
    assert list(kraft_requests(1, [OURS])) == [OURS_READ]
    (found,) = apache_requests(2, [APACHES])
    assert found == TimedRequest(2, "LeaderAndIsr", "CONTROLLER", 1795416145044.0, 0.248, 4.583)
    assert found.arrived_ms == 1795416145044.0 - 4.583


def test_requests_of_clients_and_lines_that_are_not_finished_are_left_out() -> None:
    produce = json.dumps({**json.loads(OURS), "api": "Produce", "apiKey": 0})
    dropped = '{"ms":1,"node":1,"kind":"dropped","count":3,"seq":9,"start":1}'
    assert list(kraft_requests(1, [produce, dropped, OURS[:-10], "", "[]", OURS])) == [OURS_READ]
    fetch = APACHES.replace('"requestApiKey":4', '"requestApiKey":1')
    assert list(apache_requests(1, [fetch, APACHES[:200], "INFO started", ""])) == []


def test_the_log_of_a_node_has_complete_files_and_the_open_one(tmp_path: Path) -> None:
    (tmp_path / "requests-1-00000000.jsonl").write_text(OURS + "\n")
    (tmp_path / "requests-1-00000001.open").write_text(OURS.replace("LeaderAndIsr", "UpdateMetadata") + "\n" + OURS[:9])
    assert [each.api for each in of_kraft(1, tmp_path)] == ["LeaderAndIsr", "UpdateMetadata"]
