# SPDX-License-Identifier: MIT
"""OTLP, read by OpenTelemetry's own messages: spans are the ranges of annot query."""

import base64
import collections
import json
import re

from recordings import export, query


def messages():
    """OpenTelemetry's message classes, or None if they are not installed."""
    try:
        from opentelemetry.proto.trace.v1 import trace_pb2
    except ImportError:
        return None
    return trace_pb2


def value_of(attribute):
    kind = attribute.value.WhichOneof("value")
    return getattr(attribute.value, kind) if kind else None


def attributes_of(message):
    """Attributes of a message; their keys must be unique."""
    found = {attribute.key: value_of(attribute) for attribute in message.attributes}
    assert len(found) == len(message.attributes), message
    return found


def spans_of(traces):
    """(resource's attributes, span)"""
    rows = []
    for resource in traces.resource_spans:
        about = attributes_of(resource.resource)
        for scope in resource.scope_spans:
            assert scope.scope.name == "annot"
            rows += [(about, span) for span in scope.spans]
    return rows


def read(data):
    traces = messages().TracesData()
    traces.ParseFromString(data)
    return traces


def with_bytes(value, key=None):
    """Converts ids: hexadecimal in OTLP's JSON, base64 in that of protocol buffers."""
    if isinstance(value, dict):
        return {name: with_bytes(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_bytes(inner) for inner in value]
    if key in ("traceId", "spanId", "parentSpanId"):
        return base64.b64encode(bytes.fromhex(value)).decode()
    return value


def read_lines(path):
    from google.protobuf import json_format
    traces = messages().TracesData()
    for line in path.read_bytes().splitlines():
        part = messages().TracesData()
        json_format.ParseDict(with_bytes(json.loads(line)), part)
        traces.MergeFrom(part)
    return traces


def told(traces):
    """Each span as a row of annot query, with times in Unix nanoseconds."""
    rows = []
    for about, span in spans_of(traces):
        own = attributes_of(span)
        rows.append((span.name, own.get("domain"), own.get("category"), about.get("process.pid"),
                     own.get("thread.id"), span.start_time_unix_nano,
                     span.end_time_unix_nano - span.start_time_unix_nano))
    return collections.Counter(rows)


def expected(recording, *options):
    began = int(query(recording, "select * from recording")[0]["begin_realtime_ns"])
    rows = query(recording, "select * from ranges", *options)
    return collections.Counter(
        (row["name"] or "(unnamed)", row["domain"], row["category"], row["pid"], row["tid"],
         began + row["begin_ns"], row["duration_ns"]) for row in rows)


def check_parents(traces):
    """Parents exist in the same trace and enclose their spans. Ids are unique."""
    spans = {(span.trace_id, span.span_id): span for _, span in spans_of(traces)}
    assert len(spans) == len(spans_of(traces))
    for (trace, number), span in spans.items():
        assert len(trace) == 16 and any(trace) and len(number) == 8 and any(number)
        if span.parent_span_id:
            around = spans[trace, span.parent_span_id]
            assert around.start_time_unix_nano <= span.start_time_unix_nano, span
            assert around.end_time_unix_nano >= span.end_time_unix_nano, (around, span)
    return spans


def check_paths(traces, recording, *options):
    """Compares the paths of names of nested ranges, from the outermost range down."""
    spans, names = check_parents(traces), collections.Counter()

    def path(span):
        domain, above = attributes_of(span).get("domain"), (span.trace_id, span.parent_span_id)
        name = "(no name)" if span.name == "(unnamed)" else span.name
        return (f"{path(spans[above])}/" if above in spans else "") + \
            (f"{domain}:{name}" if domain else name)

    for span in spans.values():
        names[path(span)] += 1
    for row in query(recording, """select path, count(*) as n from ranges
            where path is not null group by 1""", *options):
        assert names[row["path"]] == row["n"], (recording, row, names)


def check_events(traces, said, recording, *options):
    """Each mark is an event of a span, or counts in the message about omitted marks."""
    events = [event for _, span in spans_of(traces) for event in span.events
              if not {"lost", "exception.type"} & attributes_of(event).keys()]
    left = re.search(r"marks in no span, or too many in one \(([\d,]+)\)", said)
    marks = query(recording, "select count(*) as n from marks", *options)[0]["n"]
    assert len(events) + number(left) == marks, (recording, len(events), said, marks)
    for event in events:
        attributes_of(event)


def check_exceptions(traces, recording, *options):
    left = [span for _, span in spans_of(traces) if span.status.code == 2]
    rows = query(recording, """select args ->> 'exception' as type from ranges
        where args ->> 'exception' is not null""", *options)
    assert sorted(span.status.message for span in left) == sorted(row["type"] for row in rows)
    for span in left:
        thrown = [event for event in span.events if event.name == "exception"]
        assert attributes_of(thrown[0]) == {"exception.type": span.status.message}, span


def number(match):
    return int(match[1].replace(",", "")) if match else 0


def flow_points(recording, spans):
    """(flow, kind, innermost enclosing range) of each point, in order of time."""
    began = int(query(recording, "select * from recording")[0]["begin_realtime_ns"])
    pushed = collections.defaultdict(list)
    for about, span in spans:
        own = attributes_of(span)
        if "track" not in own:
            pushed[about.get("process.pid"), own.get("thread.id")].append(span)
    for row in query(recording, "select * from flows order by time_ns"):
        at = began + row["time_ns"]
        around = [span for span in pushed[row["pid"], row["tid"]]
                  if span.start_time_unix_nano <= at <= span.end_time_unix_nano]
        yield row["flow"], row["kind"], max(around, default=None,
                                            key=lambda span: span.start_time_unix_nano)


def check_links(traces, recording):
    """A span that a flow reaches has a link to the span that the flow left."""
    wanted, last = collections.Counter(), {}
    for flow, kind, span in flow_points(recording, spans_of(traces)):
        if span is None:
            continue
        if kind != "begin" and flow in last:
            wanted[span.span_id, last[flow].trace_id, last[flow].span_id] += 1
        if kind != "end":
            last[flow] = span
    linked = collections.Counter((span.span_id, link.trace_id, link.span_id)
                                 for _, span in spans_of(traces) for link in span.links)
    assert linked == wanted, (recording, linked, wanted)


def check_threshold(recording):
    """Short spans are omitted, unless a written span refers to them."""
    path = recording.with_suffix(".long.otlp.pb")
    said = export(recording, path)
    traces = read(path.read_bytes())
    check_parents(traces)
    rows = told(traces)
    all_rows = expected(recording)
    assert not rows - all_rows, rows - all_rows
    long = collections.Counter({row: n for row, n in all_rows.items() if row[-1] >= 1000000})
    assert not long - rows, (recording, long - rows)
    left = number(re.search(r"ranges under 1ms \(([\d,]+)\)", said))
    assert rows.total() + left == all_rows.total(), (recording, rows.total(), said)
    if not query(recording, "select 1 from flows limit 1"):
        assert rows == long, (recording, rows - long)


def check(recording):
    if not messages():
        return "opentelemetry-proto"
    path, lines = recording.with_suffix(".otlp.pb"), recording.with_suffix(".otlp.jsonl")
    said = export(recording, path, "--min-duration", "0")
    traces = read(path.read_bytes())
    rows, wanted = told(traces), expected(recording)
    assert rows == wanted, (recording, rows - wanted, wanted - rows)
    check_paths(traces, recording)
    check_events(traces, said, recording)
    check_links(traces, recording)
    check_exceptions(traces, recording)
    assert export(recording, lines, "--min-duration", "0").replace(".jsonl:", ".pb:") == said
    assert read_lines(lines) == traces, recording
    check_threshold(recording)
    return None


def check_parts(recording):
    """The same range has the same ids in each export."""
    if not messages():
        return
    whole = {span.span_id: span for _, span in spans_of(
        read(recording.with_suffix(".otlp.pb").read_bytes()))}
    path = recording.with_suffix(".part.otlp.pb")
    for choice in (["--from", "5ms", "--to", "20ms"], ["--range", "request"]):
        export(recording, path, "--min-duration", "0", *choice)
        traces = read(path.read_bytes())
        assert told(traces) == expected(recording, *choice), (recording, choice)
        for _, span in spans_of(traces):
            other = whole.get(span.span_id)
            assert other is None or (other.trace_id, other.name) == (span.trace_id, span.name)
