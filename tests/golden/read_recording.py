#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second reader of recordings, written from docs/recording-format.md alone.

    read_recording.py FILE...   prints counts and sums, one `key value` a line; several files are
                                the volumes of one recording, in order

It shares no code with annot, so that a test can check if the page is complete and true. zstd comes
from the system's libzstd. It reads whole files only: damage is an exception.
"""
import collections
import ctypes
import ctypes.util
import pathlib
import struct
import sys

MASK = (1 << 64) - 1


def make_crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


CRC_TABLE = make_crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def unzstd(data, size):
    lib = ctypes.CDLL(ctypes.util.find_library('zstd') or 'libzstd.so.1')
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(size)
    got = lib.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    assert got == size, 'zstd'
    return out.raw


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def __bool__(self):
        return self.at < len(self.data)

    def u8(self):
        self.at += 1
        return self.data[self.at - 1]

    def take(self, size):
        self.at += size
        assert self.at <= len(self.data)
        return self.data[self.at - size:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value & MASK

    def svarint(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)


Chunk = collections.namedtuple('Chunk', 'kind stream count begin end settled payload')


def chunks(data):
    magic, major, _minor, first = struct.unpack_from('<8sHHI', data)
    assert magic == b'\x89ANN\r\n\x1a\n' and major == 1
    assert struct.unpack_from('<I', data, 60)[0] == crc32c(data[:60])
    file_id = struct.unpack_from('<Q', data, 16)[0]
    at, expected = first, 0
    while at < len(data):
        (magic, kind, flags, stream, owner, begin, end, settled, number, stored, raw, crc, count,
         head_crc) = struct.unpack_from('<4sBBHQqqqIIIIII', data, at)
        assert magic == b'\xc5AN\x01' and head_crc == crc32c(data[at:at + 60])
        assert owner == file_id and number == expected and flags & ~1 == 0
        payload = data[at + 64:at + 64 + stored]
        assert len(payload) == stored and crc32c(payload) == crc
        yield Chunk(kind, stream, count, begin, end, settled,
                    unzstd(payload, raw) if flags & 1 else payload)
        at, expected = at + 64 + stored, expected + 1


class Shape:
    def __init__(self, extras, before):
        self.kind, self.traits, self.level, self.value_kind = (extras.u8() for _ in range(4))
        self.fields = extras.varint()
        self.name = before.name + extras.svarint() if before else extras.svarint()
        self.scope = extras.varint()
        self.color = extras.varint() if self.fields & 1 else 0
        self.last_key = before.last_key if before else 0
        self.args = []
        for _ in range(extras.varint() if self.fields & 128 else 0):
            self.last_key += extras.svarint()
            self.args.append([self.last_key, extras.u8(), 0])
        self.skip(extras)
        self.last = self.last_lane = self.last_length = 0

    def skip(self, extras, first=10):
        for _ in range((self.fields >> first).bit_count()):
            extras.take(extras.varint())


class Events:
    """The columns of an EVENTS payload."""

    def __init__(self, payload):
        self.count, *sizes = struct.unpack_from('<6I', payload)
        assert 24 + sum(sizes) == len(payload)
        sections, at = [], 24
        for size in sizes:
            sections.append(Bytes(payload[at:at + size]))
            at += size
        self.batches, self.tokens, self.controls, self.times, self.extras = sections
        self.index = self.base = self.last_id = 0
        self.shapes = [None]
        self.newest = None
        self.arg_count = 0

    def time(self, before):
        control = self.controls.data[self.index // 4] >> self.index % 4 * 2 & 3
        self.index += 1
        delta = int.from_bytes(self.times.take((1, 2, 3, 8)[control]), 'little')
        return before + delta & MASK

    def shape(self):
        token = self.tokens.u8()
        if token >= 192:
            token = 192 + ((token - 192) << 8 | self.tokens.u8())
        if token:
            return self.shapes[token]
        self.newest = shape = Shape(self.extras, self.newest)
        if len(self.shapes) < 16384 and self.arg_count + len(shape.args) <= 65536:
            self.shapes.append(shape)
            self.arg_count += len(shape.args)
        return shape

    def value(self, kind, last):
        if kind == 3:
            stored = self.extras.varint()
            return last ^ int.from_bytes(stored.to_bytes(8, 'little'), 'big')
        return last + self.extras.svarint() & MASK

    def args(self, shape):
        for arg in shape.args:
            key, kind, last = arg
            if kind:
                arg[2] = self.value(kind, last)
            yield key, kind, arg[2]

    def read_lane(self, shape, event):
        if shape.fields & 256:
            shape.last_lane = event['lane'] = shape.last_lane + self.extras.svarint()
        if shape.fields & 512:
            before = self.extras.varint()
            sign = -1 if before and (before - 1) & 1 else 1
            event['id'] = event['time'] - sign * (before // 2) & MASK if before else 1 << 63

    def __iter__(self):
        while self.batches:
            thread, count, *_source = (self.batches.varint() for _ in range(4))
            self.batches.svarint()
            first_index, depth = self.batches.varint(), self.batches.varint()
            self.base = time = self.base + self.batches.svarint() & MASK
            for i in range(count):
                shape = self.shape()
                time = self.time(time)
                event = {'thread': thread, 'index': first_index + i, 'time': signed(time),
                         'depth': 0, 'id': 0, 'end': 0, 'value': 0, 'lane': 0,
                         'shape': shape}
                self.read_lane(shape, event)
                if shape.fields & 4:
                    event['depth'] = depth - 1
                if shape.fields & 2:
                    event['depth'] = self.extras.varint()
                if shape.fields & 8:
                    event['id'] = self.last_id = self.last_id + self.extras.svarint() & MASK
                if shape.fields & 16:
                    shape.last_length += self.extras.svarint()
                    event['end'] = event['time'] + shape.last_length
                if shape.fields & 32:
                    event['id'] = shape.last = shape.last + self.extras.svarint() & MASK
                if shape.fields & 64:
                    event['value'] = shape.last = self.value(shape.value_kind, shape.last)
                event['args'] = list(self.args(shape))
                if shape.fields & 1024:
                    event['thread'] += Bytes(self.extras.take(self.extras.varint())).svarint()
                shape.skip(self.extras, 11)
                if shape.traits & 1:
                    depth += 1
                elif shape.traits & 2:
                    depth = event['depth']
                yield event
        assert self.index == self.count


class Samples:
    """The columns of a SAMPLES payload."""

    def __init__(self, payload):
        self.count, *sizes = struct.unpack_from('<11I', payload)
        assert 44 + sum(sizes) == len(payload)
        columns, at = [], 44
        for size in sizes:
            columns.append(Bytes(payload[at:at + size]))
            at += size
        (self.tokens, self.threads, self.times, self.cpus, self.stacks, self.paths, self.ends,
         self.values, self.ids, self.extras) = columns
        self.columns = columns
        self.shapes = [None]
        self.last_id = 0

    def shape(self):
        token = self.tokens.varint()
        if token:
            return self.shapes[token]
        shape = {'set': self.extras.varint()}
        for name in ('reason', 'flags', 'native_end', 'python_end', 'fields'):
            shape[name] = self.extras.u8()
        assert shape['fields'] & ~79 == 0
        count = shape['count'] = self.extras.varint()
        own = shape['fields'] & 6
        assert count <= 8 and own != 6 and (own != 4 or shape['fields'] & 1)
        shape['values'] = None if own else [self.extras.varint() for _ in range(count)]
        if len(self.shapes) < 1024:
            self.shapes.append(shape)
        return shape

    def time(self, sample, before):
        if not sample['fields'] & 1:
            before['step'] += self.times.svarint()
            before['time'] += before['step']
            sample['time'], sample['end'] = before['time'], 0
            return
        sample['time'] = before['end'] + self.times.svarint()
        before['end'] = sample['end'] = sample['time'] + self.ends.varint()

    def take_values(self, sample):
        if sample['fields'] & 2:
            sample['values'] = [self.values.varint() for _ in range(sample['count'])]
        elif sample['fields'] & 4:
            left, others = sample['end'] - sample['time'], []
            for _ in range(sample['count'] - 1):
                code = self.values.varint()
                others.append(left if code == 1 else max(code - 1, 0))
                left -= others[-1]
            assert left >= 0
            sample['values'] = [left] + others

    def __iter__(self):
        threads = {}
        last = {'thread': 0, 'time': 0, 'cpu': 0, 'stack': 0, 'path': 0}
        for _ in range(self.count):
            sample = dict(self.shape())
            sample['thread'] = last['thread'] + self.threads.svarint()
            fresh = {'step': 0, 'end': last['time'],
                     **{name: last[name] for name in ('time', 'cpu', 'stack', 'path')}}
            before = threads.setdefault(sample['thread'], fresh)
            self.time(sample, before)
            for name, column in (('cpu', self.cpus), ('stack', self.stacks),
                                 ('path', self.paths)):
                sample[name] = before[name] = before[name] + column.svarint()
            self.take_values(sample)
            sample['id'] = 0
            if sample['fields'] & 8:
                sample['id'] = self.last_id = self.last_id + self.ids.svarint() & MASK
            if sample['fields'] & 64:
                self.extras.take(self.extras.varint())
            last = sample
            yield sample
        assert not any(self.columns)


# The columns of each kind of definition; `name:` is a list, `name"` a text, `name#16` bytes.
DEFINITIONS = {
    1: ('strings', 'text"'),
    2: ('sessions', 'id parent_id hostname kernel command version clock begin end realtime status '
        'recovered peak nested directory processors'),
    3: ('processes', 'pid ppid ns_pid pid_ns identity host parent forked start end fork forker how '
        'value uid name comm cmdline runtime lost: misuse: peak events note noter noted '
        'queued:'),
    4: ('threads', 'process serial tid name comm first last events lost: '
        'probed'),
    5: ('refusals', 'pid comm reason'),
    6: ('samplings', 'rung off_cpu frequency threshold reason hint'),
    7: ('facts', 'name kind value'),
    8: ('frames', 'kind label module line address column end_column caller'),
    9: ('stacks', 'parent what'),
    10: ('paths', 'parent what kind scope'),
    11: ('tracks', 'id process name parent kind'),
    12: ('units', 'counter domain unit'),
    13: ('filters', 'time rules'),
    14: ('scopes', 'domain category observer role'),
    15: ('hosts', 'boot#16 name kernel rank offset error drift'),
    16: ('clocks', 'host kind'),
    17: ('anchors', 'clock raw ns error'),
    18: ('names', 'frame label line column end_column caller'),
    19: ('types', 'name unit sum'),
    20: ('sets', 'name period flags count types:'),
    21: ('modules', 'path kind size build#20'),
    22: ('streams', 'name'),
    23: ('sources', 'path hash#16 content'), 26: ('cards', 'lane thread name uuid card place'),
    24: ('labels', 'kind text source module first_line flags'), 25: ('label_names', 'string label'),
}


NEVER_REPLACED = (1, 5, 8, 9, 10, 13, 14, 17, 19, 20, 21, 24, 25)


def column(name, body, count):
    """The values of a column, one per definition; names without a mark are integers."""
    if name.endswith('"'):
        return [body.take(body.varint()).decode() for _ in range(count)]
    if '#' in name:
        return [body.take(int(name.split('#')[1])) for _ in range(count)]
    size = body.varint() if name.endswith(':') else 1
    before, rows = [0] * size, []
    for _ in range(count):
        before = [signed(value + body.svarint() & MASK) for value in before]
        rows.append(list(before) if name.endswith(':') else before[0])
    return rows


def pairs_of(told):
    """The pairs of one id: times of each start and its end, and the unpaired rest."""
    waiting, pairs = None, []
    for time, kind in told:
        if waiting and waiting[1] != kind:
            pairs.append({time, waiting[0]})
            waiting = None
        else:
            waiting = time, kind
    return sorted(map(sorted, pairs)), waiting


class Recording:
    def __init__(self, files):
        for name, _columns in DEFINITIONS.values():
            setattr(self, name, {})
        self.sums, self.next_index, self.settled = {}, {}, {}
        self.open, self.depths, self.pushes, self.starts = {}, {}, {}, {}
        self.told, self.uses = {}, {}
        self.complete = False
        sets = [struct.unpack_from('<QI', data, 40) for data in files]
        assert sets == [(sets[0][0], number) for number in range(len(files))]
        for i, data in enumerate(files):
            self.read(data, follows=i + 1 < len(files))

    def read(self, data, follows):
        before = self.sums.get('events', 0)
        for number, chunk in enumerate(chunks(data)):
            if chunk.kind in (2, 3):
                assert chunk.begin >= self.settled.get(chunk.stream, chunk.begin)
                self.settled[chunk.stream] = chunk.settled
            if chunk.kind == 1:
                self.define(Bytes(chunk.payload), chunk.count)
            elif chunk.kind == 2:
                self.count(chunk)
            elif chunk.kind == 3:
                self.count_samples(chunk)
            elif chunk.kind == 4:
                self.check_checkpoint(chunk)
            elif chunk.kind == 5:
                events = self.sums.get('events', 0) - before
                *facts, mixed = struct.unpack('<2Q2I', chunk.payload)
                self.complete = facts == [events, number, follows]
                self.check_ids(mixed)

    def text(self, ordinal):
        return self.strings[ordinal]['text"'] if ordinal else ''

    def define(self, body, count):
        while body:
            kind, length = body.varint(), body.varint()
            self.define_entry(kind, Bytes(body.take(length)))
            count -= 1
        assert count == 0

    def define_entry(self, kind, entry):
        name, columns = DEFINITIONS[kind]
        first, count = entry.varint(), entry.varint()
        assert count <= 4096
        rows = [{} for _ in range(count)]
        for column_name in columns.split():
            size = entry.varint() if entry else 0
            stored = Bytes(entry.take(size))
            empty = {'"': '', ':': []}.get(column_name[-1], 0)
            values = column(column_name, stored, count) if size else [empty] * count
            assert not stored
            for row, value in zip(rows, values):
                row[column_name] = value
        known = getattr(self, name)
        for ordinal, row in enumerate(rows, first):
            assert kind not in NEVER_REPLACED or known.get(ordinal, row) == row
            known[ordinal] = row

    def add(self, key, value):
        self.sums[key] = (self.sums.get(key, 0) + value) & MASK

    def follow(self, event):
        """The open ranges after an event: of its thread by level, others by process and id."""
        thread, kind = event['thread'], event['shape'].kind
        known, depth = self.open.setdefault(thread, {}), self.depths.get(thread, 0)
        if kind == 1:
            self.pushes[thread] = self.pushes.get(thread, 0) + 1
            known[depth] = event['time'], event['shape'].name
            depth += 1
        elif kind in (2, 7, 8):
            depth = 0 if kind == 8 else event['depth']
        elif kind in (3, 4):
            key = self.threads[thread]['process'], event['id']
            if self.starts.pop(key, (kind,))[0] == kind:
                self.starts[key] = kind, event['time'], event['shape'].name
        self.open[thread] = {level: push for level, push in known.items() if level < depth}
        self.depths[thread] = depth

    def check_ids(self, mixed):
        """Where they are not, the order of the file and that of time give the same."""
        assert mixed in (0, 1)
        for told in self.told.values() if not mixed else ():
            assert pairs_of(told) == pairs_of(sorted(told, key=lambda event: event[0]))

    def check_checkpoint(self, chunk):
        opened, depths, starts, depth = {thread: {} for thread in self.open}, {}, {}, None
        for event in Events(chunk.payload):
            thread, shape = event['thread'], event['shape']
            assert event['time'] <= chunk.end
            if shape.kind == 128:
                depth = depths[thread] = event['depth']
            elif shape.kind == 1:
                opened[thread][depth] = event['time'], shape.name
            elif shape.kind in (3, 4):
                key = self.threads[thread]['process'], event['id']
                starts[key] = shape.kind, event['time'], shape.name
            else:
                raise AssertionError(shape.kind)
        assert (opened, depths, starts) == (self.open, self.depths, self.starts)
        self.add('checkpoints', 1)

    def count(self, chunk):
        for event in Events(chunk.payload):
            shape, thread = event['shape'], event['thread']
            assert event['index'] == self.next_index.get(thread, 0)
            assert chunk.begin <= event['time'] <= chunk.end
            if chunk.stream == 0:
                self.follow(event)
            if shape.kind in (3, 4):
                key = self.threads[thread]['process'], event['id']
                self.told.setdefault(key, []).append((event['time'], shape.kind))
            self.next_index[thread] = event['index'] + 1
            self.add('events', 1)
            self.add(f'kind_{shape.kind:02}', 1)
            self.add('time', event['time'] * (thread + 1))
            self.add('name_bytes', len(self.text(shape.name).encode()))
            scope = self.scopes.get(shape.scope, {'domain': 0, 'category': 0})
            self.add('scope', shape.scope)
            self.add('domain', scope['domain'])
            self.add('category', scope['category'])
            self.add('color', shape.color)
            self.add('level', shape.level)
            self.add('value_kind', shape.value_kind)
            self.add('value', event['value'])
            self.add('end', event['end'])
            self.add('id', event['id'])
            self.add('lane', event['lane'])
            self.add('arg_count', len(event['args']))
            for key, kind, value in event['args']:
                self.add('args', key + 3 * kind + 5 * value)
            self.add('depth', event['depth'] if shape.kind in (2, 7) else 0)

    def count_samples(self, chunk):
        count = chunk.count
        for sample in Samples(chunk.payload):
            count -= 1
            assert chunk.begin <= sample['time'] and \
                max(sample['time'], sample['end']) <= chunk.end
            assert sample['stack'] in self.stacks or sample['stack'] == 0
            self.add('samples', 1)
            self.add('sample_time', sample['time'] * (sample['thread'] + 1))
            self.uses[sample['stack']] = self.uses.get(sample['stack'], 0) + 1
            for name in ('end', 'id', 'cpu', 'path', 'set', 'reason', 'flags'):
                self.add('sample_' + name, sample[name])
            for i, value in enumerate(sample['values']):
                self.add('sample_values', value * (i + 1))
            self.add('sample_walks', sample['native_end'] * 256 + sample['python_end'])
        assert count == 0

    def expand_stacks(self):
        """Inlined functions get separate stacks, each once."""
        found, moved = {}, {0: 0}
        for ordinal, node in sorted(self.stacks.items()):
            chain, at, stack = [], node['what'], moved[node['parent']]
            while at:
                chain.append(at)
                at = self.frames[at]['caller']
            for frame in reversed(chain):
                stack = found.setdefault((stack, frame), len(found) + 1)
            moved[ordinal] = stack
        self.stacks = {stack: {'parent': key[0], 'what': key[1]} for key, stack in found.items()}
        return moved

    def define_sample_sums(self):
        for name in self.names.values():
            self.frames[name['frame']].update(
                {field: value for field, value in name.items() if field != 'frame'})
        for frame in self.frames.values():
            for i, value in enumerate(frame.values()):
                self.add('frames', value * (i + 1))
        for ordinal, label in self.labels.items():
            for i, value in enumerate(label.values()):
                self.add('frames', ordinal * value * (i + 1))
        for ordinal, source in self.sources.items():
            self.add('frames', ordinal * (source['path'] + 2 * source['hash#16'][0] +
                                          3 * source['content']))
        for ordinal, module in self.modules.items():
            self.add('frames', ordinal * (module['path'] + 2 * module['kind'] +
                                          3 * module['build#20'][0]))
        inlined = any(frame['caller'] for frame in self.frames.values())
        moved = self.expand_stacks() if inlined else {}
        for stack, count in self.uses.items():
            self.add('sample_stack', moved.get(stack, stack) * count)
        for key, nodes in (('stacks', self.stacks), ('paths', self.paths)):
            for ordinal, node in nodes.items():
                self.add(key, ordinal * (node['parent'] + 1) + node['what'])
        for ordinal, path in self.paths.items():
            self.add('paths', 1000003 * ordinal * path['kind'] + 1000033 * ordinal * path['scope'])
        for ordinal, fact in self.facts.items():
            self.add('facts', ordinal * 7 + fact['name'] + fact['kind'] + fact['value'])
        for i, value in enumerate(self.samplings[0].values()):
            self.add('sampling', value * (i + 1))

    def define_host_sums(self):
        for ordinal, host in self.hosts.items():
            self.add('hosts', (ordinal + 1) * (sum(host['boot#16']) + 3 * host['name'] +
                                               5 * host['rank'] + 7 * host['offset'] +
                                               11 * host['error'] + 13 * host['drift']))
        for clock in self.clocks.values():
            self.add('hosts', clock['host'] + 17 * clock['kind'])
        for anchor in self.anchors.values():
            self.add('hosts', anchor['clock'] + 19 * anchor['raw'] + 23 * anchor['ns'] +
                     29 * anchor['error'])
        for process in self.processes.values():
            self.add('hosts', 31 * process['host'])

    def define_sums(self):
        self.define_sample_sums()
        self.define_host_sums()
        for process in self.processes.values():
            self.add('process_pid', process['pid'])
            self.add('process_events', process['events'])
            self.add('process_forker', process['forker'])
            self.add('process_lost', sum(process['lost:']))
            self.add('process_cmdline_bytes', len(self.text(process['cmdline']).encode()))
            self.add('process_note', len(self.text(process['note']).encode()) +
                     process['noter'] * 3 + process['noted'])
        for thread in self.threads.values():
            self.add('thread_tid', thread['tid'])
            self.add('thread_process', thread['process'])
            self.add('thread_lost', sum(thread['lost:']))
        for ordinal, track in self.tracks.items():
            self.add('tracks', track['id'] + (ordinal + 1) * (
                track['process'] + 3 * track['name'] + 5 * track['parent'] + 7 * track['kind']))
        for unit in self.units.values():
            self.add('units', unit['domain'] + 3 * unit['counter'] + 5 * unit['unit'])
        for ordinal, scope in self.scopes.items():
            self.add('scopes', ordinal * (scope['domain'] + 3 * scope['category'] +
                                          5 * scope['observer'] + 7 * scope['role']))
        self.add('strings', len(self.strings) + 1)
        self.add('complete', self.complete)


def main():
    recording = Recording([pathlib.Path(name).read_bytes() for name in sys.argv[1:]])
    recording.define_sums()
    for key, value in sorted(recording.sums.items()):
        print(key, value)


if __name__ == '__main__':
    main()
