"""The dashboard of running services, their nodes, and mirrors: metrics in Prometheus."""

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row

from tests.grafana.panels import (
    PROMETHEUS,
    chosen_values,
    dashboard,
    lines,
    number,
    promql,
    states,
)

_JOB = '{job=~"$job"}'
_MIRROR = '{mirror=~"$mirror"}'

_RATE = "[$__rate_interval]"

_YES = {"1": ("yes", "green"), "0": ("no", "text")}
_FENCED = {"1": ("fenced", "red"), "0": ("active", "green")}
_UP = {"1": ("recording", "green"), "0": ("stopped", "red")}


def service_dashboard() -> Dashboard:
    """Return the dashboard."""
    found = dashboard(
        "metalog-service",
        "metalog: services, nodes and mirrors",
        "What metalog serve, view and record measure. One Prometheus job for each cluster.",
        PROMETHEUS,
    )
    found = found.time("now-3h", "now").refresh("30s")
    found = found.with_variable(
        chosen_values("job", "Cluster", "label_values(metalog_active, job)", PROMETHEUS)
    )
    found = found.with_variable(
        chosen_values("mirror", "Mirror", "label_values(metalog_recorder_up, mirror)", PROMETHEUS)
    )
    for part in (_cluster, _service, _nodes, _jobs, _mirrors):
        found = part(found)
    return found


def _cluster(found: Dashboard) -> Dashboard:
    counts = (
        ("Without a leader", "Partitions that clients cannot use.", "partitions_offline", 1),
        ("Under-replicated", "Partitions that lack replicas.", "partitions_under_replicated", 1),
        ("Partitions", "Partitions of all topics.", "partitions", None),
    )
    found = found.with_row(Row("Cluster"))
    for title, help_, metric, bad in counts:
        query = promql(f"max by (job) (metalog_{metric}{_JOB})", "{{job}}")
        found = found.with_panel(number(title, help_, query, bad=bad))
    fenced = f"max by (job) (sum by (job, instance) (metalog_broker_fenced{_JOB}))"
    help_ = "Registered brokers without a session."
    found = found.with_panel(number("Fenced brokers", help_, promql(fenced, "{{job}}"), bad=1))
    deciding = promql(f"sum by (job) (metalog_active{_JOB})", "{{job}}")
    help_ = "Nodes that decide: one for each cluster, none for logs that are only shown."
    found = found.with_panel(number("Deciding", help_, deciding, bad=2))
    errors = 'metalog_http_request_seconds_count{job=~"$job", status="500"}'
    query = promql(f"sum(increase({errors}[$__range])) or vector(0)", "500")
    help_ = "Answers with status 500 in this range: mistakes of the service, told in its log."
    found = found.with_panel(number("Mistakes", help_, query, bad=1))
    return (
        found.with_panel(
            lines(
                "Partitions in trouble",
                "Without a leader, and with fewer replicas in sync than replicas.",
                promql(f"max by (job) (metalog_partitions_offline{_JOB})", "{{job}} leaderless"),
                promql(
                    f"max by (job) (metalog_partitions_under_replicated{_JOB})",
                    "{{job}} under-replicated",
                    ref="B",
                ),
                is_stepped=True,
            )
        )
        .with_panel(
            states(
                "Brokers",
                "A fenced broker has no session and leads nothing.",
                promql(f"max by (job, broker) (metalog_broker_fenced{_JOB})", "{{job}} {{broker}}"),
                _FENCED,
            )
        )
        .with_panel(
            lines(
                "Silence of brokers",
                "Time since the last heartbeat; a session ends at --session-timeout-ms.",
                promql(
                    f"min by (job, broker) (metalog_broker_silence_seconds{_JOB})",
                    "{{job}} {{broker}}",
                ),
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Records that brokers lack",
                "Records not applied, as of a broker's last heartbeat.",
                promql(
                    f"min by (job, broker) (metalog_broker_lag_records{_JOB})", "{{job}} {{broker}}"
                ),
            )
        )
    )


def _service(found: Dashboard) -> Dashboard:
    requests = f"metalog_http_request_seconds_count{_JOB}"
    seconds = f"sum by (job, route, le) (rate(metalog_http_request_seconds_bucket{_JOB}{_RATE}))"
    syncs = f"sum by (instance, le) (rate(metalog_sync_seconds_bucket{_JOB}{_RATE}))"
    return (
        found.with_row(Row("Service"))
        .with_panel(
            lines(
                "Committed",
                "Records and batches that were committed.",
                promql(
                    f"sum by (job) (rate(metalog_batch_records_sum{_JOB}{_RATE}))",
                    "{{job}} records",
                ),
                promql(
                    f"sum by (job) (rate(metalog_batch_records_count{_JOB}{_RATE}))",
                    "{{job}} batches",
                    ref="B",
                ),
                unit="ops",
            )
        )
        .with_panel(
            lines(
                "Duration of syncs",
                "Each commit waits for a sync of the disk: the median, and one in a hundred.",
                promql(f"histogram_quantile(0.5, {syncs})", "{{instance}} median"),
                promql(f"histogram_quantile(0.99, {syncs})", "{{instance}} 99 %", ref="B"),
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Requests over HTTP",
                "Answered requests by status.",
                promql(f"sum by (job, status) (rate({requests}{_RATE}))", "{{job}} {{status}}"),
                unit="reqps",
            )
        )
        .with_panel(
            lines(
                "Time to answer",
                "By path, in 99 of 100 requests.",
                promql(f"histogram_quantile(0.99, {seconds})", "{{job}} {{route}}"),
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Connections",
                "Open connections by listener, and open streams of events.",
                promql(f"metalog_connections{_JOB}", "{{instance}} {{listener}}"),
                promql(f"metalog_event_streams{_JOB}", "{{instance}} events", ref="B"),
            )
        )
        .with_panel(
            lines(
                "Logins",
                "Logins with a password or token, by listener and outcome.",
                promql(
                    f"sum by (job, listener, outcome) (rate(metalog_logins_total{_JOB}{_RATE}))",
                    "{{job}} {{listener}} {{outcome}}",
                ),
                unit="ops",
            )
        )
        .with_panel(
            lines(
                "Memory",
                "Memory of the processes.",
                promql(f"process_resident_memory_bytes{_JOB}", "{{instance}}"),
                unit="bytes",
            )
        )
        .with_panel(
            lines(
                "Processor",
                "Share of one core that a process uses.",
                promql(f"rate(process_cpu_seconds_total{_JOB}{_RATE})", "{{instance}}"),
                unit="percentunit",
            )
        )
    )


def _nodes(found: Dashboard) -> Dashboard:
    return (
        found.with_row(Row("Nodes of a cluster"))
        .with_panel(
            states(
                "Which node decides",
                "One at a time.",
                promql(f"metalog_active{_JOB}", "{{job}} {{instance}}"),
                _YES,
            )
        )
        .with_panel(
            lines(
                "Behind",
                "Time since a node had all committed records; 0 for the one that decides.",
                promql(f"metalog_behind_seconds{_JOB}", "{{instance}}"),
                unit="s",
            )
        )
        .with_panel(
            lines(
                "End of the log",
                "First offset that is not committed, as a node knows it.",
                promql(f"metalog_log_end_offset{_JOB}", "{{instance}}"),
            )
        )
        .with_panel(
            lines(
                "Epoch",
                "It grows with each takeover.",
                promql(f"max by (job) (metalog_leader_epoch{_JOB})", "{{job}}"),
                is_stepped=True,
            )
        )
    )


def _jobs(found: Dashboard) -> Dashboard:
    lag = '{__name__=~"metalog_(snapshot|sql_history|archive)_lag_records", job=~"$job"}'
    failed = 'metalog_job_runs_total{job=~"$job", outcome="failed"}'
    return (
        found.with_row(Row("Jobs in the background"))
        .with_panel(
            lines(
                "Records since the newest snapshot, SQL history, archive",
                "What would be replayed, is not in the tables yet, or not archived.",
                promql(f"max by (job, __name__) ({lag})", "{{job}} {{__name__}}"),
            )
        )
        .with_panel(
            lines(
                "Since the newest success",
                "Prometheus renames the label job of these metrics to exported_job.",
                promql(
                    f"time() - metalog_job_success_timestamp_seconds{_JOB}",
                    "{{instance}} {{exported_job}}",
                ),
                promql(
                    f"sum by (instance, exported_job) (increase({failed}[$__range])) > 0",
                    "{{instance}} {{exported_job}} failed runs",
                    ref="B",
                ),
                unit="s",
            )
        )
    )


def _mirrors(found: Dashboard) -> Dashboard:
    answer = f"time() - metalog_recorder_last_answer_timestamp_seconds{_MIRROR}"
    return (
        found.with_row(Row("Mirrors that metalog record keeps"))
        .with_panel(
            states(
                "Recording",
                "Whether the quorum is followed.",
                promql(f"metalog_recorder_up{_MIRROR}", "{{mirror}}"),
                _UP,
            )
        )
        .with_panel(
            lines(
                "Records that the mirror lacks",
                "Below the quorum's high watermark; and final records that were not checked yet.",
                promql(f"metalog_recorder_lag_records{_MIRROR}", "{{mirror}}"),
                promql(
                    f"metalog_recorder_unchecked_records{_MIRROR}", "{{mirror}} unchecked", ref="B"
                ),
            )
        )
        .with_panel(
            lines(
                "Since a leader answered",
                "An idle controller answers twice a second.",
                promql(answer, "{{mirror}}"),
                unit="s",
            )
        )
        .with_panel(
            lines(
                "Gaps, and alerts that last",
                "Offsets that the recording missed, and checks that fail.",
                promql(f"metalog_recorder_gaps{_MIRROR}", "{{mirror}} gaps"),
                promql(
                    f"sum by (mirror) (metalog_recorder_alerts_firing{_MIRROR})",
                    "{{mirror}} alerts",
                    ref="B",
                ),
                is_stepped=True,
            )
        )
    )
