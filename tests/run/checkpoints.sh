#!/usr/bin/env bash
# torch.save: what it writes is a zip archive and a pickle that python3 reads without PyTorch; torch.load of a file that
# names other things than state dicts do runs none of them.
set -euo pipefail

cat >"$TMP/save.py" <<'END'
import os, torch
x = torch.arange(6.0).reshape(2, 3)
torch.save({'x': x, 'column': x[:, 1], 'w': torch.nn.Parameter(torch.ones(2)), 'half': torch.tensor([1.5], dtype=torch.float16),
            'list': [1, -7, 2 ** 40, 0.25, None, True, 'h\u00e9', (2, 3)]}, os.environ['TMP'] + '/ours.pt')
END
"$WARPSMITH" run "$TMP/save.py" --device cpu >"$TMP/out" 2>&1 </dev/null || {
    cat "$TMP/out"
    exit 1
}
python3 - "$TMP" <<'END'
import collections, io, pickle, struct, sys, zipfile

archive = zipfile.ZipFile(f"{sys.argv[1]}/ours.pt")
assert archive.testzip() is None
root = archive.namelist()[0].split("/")[0]
assert archive.read(f"{root}/byteorder") == b"little" and archive.read(f"{root}/version") == b"3\n"
for info in archive.infolist():
    head = info.header_offset
    with open(archive.filename, "rb") as f:
        f.seek(head + 26)
        name, extra = struct.unpack("<HH", f.read(4))
    assert (head + 30 + name + extra) % 64 == 0, f"{info.filename} is not aligned"

def tensor(storage, offset, size, stride, grad, hooks):
    kind, key, n = storage
    data = archive.read(f"{root}/data/{key}")
    width, code = {"FloatStorage": (4, "f"), "HalfStorage": (2, "e")}[kind]
    assert len(data) == n * width
    values = struct.unpack(f"<{n}{code}", data)
    def at(dim, place):
        return values[place] if dim == len(size) else [at(dim + 1, place + i * stride[dim]) for i in range(size[dim])]
    return at(0, offset)

class Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        known = {"_rebuild_tensor_v2": tensor, "_rebuild_parameter": lambda data, grad, hooks: ("parameter", data, grad),
                 "OrderedDict": collections.OrderedDict}
        return known.get(name, name)
    def persistent_load(self, saved):
        assert saved[0] == "storage" and saved[3] == "cpu", saved
        return saved[1], saved[2], saved[4]

got = Unpickler(io.BytesIO(archive.read(f"{root}/data.pkl"))).load()
want = {"x": [[0, 1, 2], [3, 4, 5]], "column": [1, 4], "w": ("parameter", [1, 1], True), "half": [1.5],
        "list": [1, -7, 2 ** 40, 0.25, None, True, "h\u00e9", (2, 3)]}
assert got == want, got

# Files of others: each opcode and name that state dicts do not need, places outside, one storage many times.
def write(name, pickled, records=()):
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}.pt", "w") as z:
        z.writestr("a/data.pkl", pickled)
        for key, data in records:
            z.writestr(f"a/data/{key}", data)

class Run:
    def __reduce__(self):
        import os
        return os.system, (f"touch {sys.argv[1]}/ran",)

def storage(key="0", n=4, kind=b"FloatStorage"):
    return b"((X\7\0\0\0storagectorch\n" + kind + b"\nX" + struct.pack("<I", len(key)) + key.encode() + b"X\3\0\0\0cpuK" \
        + bytes([n]) + b"tQ"

def view(offset, size, stride):
    return b"\x80\2ctorch._utils\n_rebuild_tensor_v2\n" + storage() + b"K" + bytes([offset]) + b"K" + bytes([size]) + b"\x85J" \
        + struct.pack("<i", stride) + b"\x85\x89ccollections\nOrderedDict\n)RtR."

floats = [("0", struct.pack("<4f", 1, 2, 3, 4))]
write("fine", view(1, 3, 1), floats)
write("runs", pickle.dumps(Run(), 2))
write("newer", pickle.dumps([1], 4))
write("evals", b"\x80\2cbuiltins\neval\nX\1\0\0\0001\x85R.")
write("outside", view(2, 3, 1), floats)
write("backwards", view(3, 2, -1), floats)
write("far", view(0, 2, 2 ** 31 - 1), floats)
write("missing", view(0, 1, 1))
write("cut", view(0, 1, 1)[:-9], floats)
write("name", b"\x80\2](ctorch\nFloatStorage\ne.")
write("empty", b"")
write("deep", b"\x80\2" + b"]" * 100000 + b"a" * 99999 + b".")
write("memo", b"\x80\2]r\xff\xff\xff\xff.")
write("long", b"\x80\2\x8a\x10" + b"\1" * 16 + b".")

# Archives that lie: a length of the last record that is 1 too much, and so on; and one whose fields have all 64 bits.
fine = open(f"{sys.argv[1]}/fine.pt", "rb").read()
end, first, last = fine.rfind(b"PK\5\6"), fine.find(b"PK\1\2"), fine.rfind(b"PK\1\2")

def damaged(name, at, code, value, data=fine):
    data = bytearray(data)
    struct.pack_into(code, data, at, value)
    with open(f"{sys.argv[1]}/{name}.pt", "wb") as f:
        f.write(data)

for field, at in ("name", last + 28), ("extra", last + 30), ("comment", last + 32):
    damaged("long_" + field, at, "<H", struct.unpack_from("<H", fine, at)[0] + 1)
damaged("packed", first + 10, "<H", 8)
damaged("shorter", first + 20, "<I", 1)
damaged("header_outside", first + 42, "<I", len(fine) + 1)
damaged("headless", 0, "<I", 0)
damaged("directory_outside", end + 12, "<I", end - first + 23)
damaged("records", end + 10, "<H", 99)
damaged("endless", end, "<I", 0)
damaged("short", 0, "<H", 0, b"PK")

def wide():
    directory = b""
    for info in zipfile.ZipFile(f"{sys.argv[1]}/fine.pt").infolist():
        name = info.filename.encode()
        field = b"\7\0\1\0?" + struct.pack("<HHQQQ", 1, 24, info.file_size, info.file_size, info.header_offset)
        directory += b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 45, 45, 0, 0, 0, 0, 0, 2 ** 32 - 1, 2 ** 32 - 1, len(name), len(field), 3,
                                             0, 0, 0, 2 ** 32 - 1) + name + field + b"say"
    end64 = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 2, 2, len(directory), first)
    locator = b"PK\6\7" + struct.pack("<IQI", 0, first + len(directory), 1)
    nothing = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 2 ** 16 - 1, 2 ** 16 - 1, 2 ** 32 - 1, 2 ** 32 - 1, 0)
    return fine[:first] + directory + end64 + locator + nothing

damaged("wide", 0, "<2s", b"PK", wide())
END
cat >"$TMP/load.py" <<'END'
import os, torch
for name in ('fine runs newer evals outside backwards far missing cut name empty deep memo long '
             'long_name long_extra long_comment packed shorter header_outside headless directory_outside records endless short wide').split():
    try:
        x = torch.load(os.path.join(os.environ['TMP'], name + '.pt'))
        print(name, 'loaded', x.tolist() if isinstance(x, torch.Tensor) else type(x).__name__)
    except RuntimeError as e:
        print(name, 'refused:', str(e).replace(os.environ['TMP'] + '/', ''))
END
"$WARPSMITH" run "$TMP/load.py" --device cpu >"$TMP/out" 2>"$TMP/err" </dev/null || {
    cat "$TMP/out" "$TMP/err"
    exit 1
}
[ ! -e "$TMP/ran" ] || { echo "a pickle ran a program"; exit 1; }
diff "$TMP/out" - <<'END'
fine loaded [2.0, 3.0, 4.0]
runs refused: torch.load reads tensors, numbers, strings, lists, tuples and dicts; runs.pt holds a posix.system, which is not supported
newer refused: torch.load reads pickles of protocol 2, as torch.save writes them; newer.pt has another
evals refused: torch.load reads tensors, numbers, strings, lists, tuples and dicts; evals.pt holds a builtins.eval, which is not supported
outside refused: torch.load: outside.pt is not what torch.save writes: a tensor lies outside of its storage
backwards refused: torch.load: backwards.pt is not what torch.save writes: a size that is none
far refused: torch.load: far.pt is not what torch.save writes: a tensor lies outside of its storage
missing refused: torch.load: missing.pt is not what torch.save writes: the record of a storage is missing
cut refused: torch.load: cut.pt is not what torch.save writes: the pickle is cut off
name refused: torch.load: name.pt is not what torch.save writes: a name stands where a value has to be
empty refused: torch.load: empty.pt is not what torch.save writes: the pickle is cut off
deep loaded list
memo refused: torch.load: memo.pt is not what torch.save writes: a memo out of order
long refused: torch.load: long.pt is not what torch.save writes: an integer of more than 64 bits
long_name refused: torch.load: long_name.pt is not what torch.save writes: a record has no name
long_extra refused: torch.load: long_extra.pt is not what torch.save writes: a record has no name
long_comment refused: torch.load: long_comment.pt is not what torch.save writes: a record has no name
packed refused: torch.load: packed.pt is not what torch.save writes: a record is compressed
shorter refused: torch.load: shorter.pt is not what torch.save writes: a record is compressed
header_outside refused: torch.load: header_outside.pt is not what torch.save writes: a record lies outside of it
headless refused: torch.load: headless.pt is not what torch.save writes: a record has no header
directory_outside refused: torch.load: directory_outside.pt is not what torch.save writes: its directory lies outside of it
records refused: torch.load: records.pt is not what torch.save writes: its directory lies outside of it
endless refused: torch.load: endless.pt is not what torch.save writes: it is no zip archive
short refused: torch.load: short.pt is not what torch.save writes: it is too short
wide loaded [2.0, 3.0, 4.0]
END
