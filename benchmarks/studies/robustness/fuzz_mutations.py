"""Mutations of files: fields of documents replaced, removed, repeated and swapped, and bytes of any file."""

import contextlib
import copy
import io
import json
import zipfile

import numpy as np

from evlearn.storage.archives import header_array, read_archive, write_archive

HUGE = 10**400
_STRIDE = 7919  # a prime, so that a small number of cases covers all fields and changes
VALUES = (
    *(None, True, False, 0, -1, 1, 2, 3, 1.5, -0.0, 40, 10**9, 2**31, -(2**31), 2**63, 2**64, -(2**63) - 1, HUGE),
    *(1e308, -1e308, 5e-324, 1e-200, 1e200, float("nan"), float("inf"), "", "x", "inf", "nan", "1", "precomputed"),
    *("\ud800", [], {}, [0], [[[]]], [None], {"a": 1}, {"float": "nan"}, {"float": "inf"}, {"tuple": [0, 1]}),
    {"array": {"type": "float64", "shape": [0], "values": []}},
    {"array": {"type": "float64", "shape": [0, 10**12], "values": []}},
    {"array": {"type": "int64", "shape": [2], "values": [2**62, -(2**62)]}},
    {"focal sets": {"frame": 2**28, "sets": [[]]}},
    {"focal sets": {"frame": 3, "sets": [[], [0], [1], [2]]}},
    {"Coordinates": {"center": {"array": {"type": "float64", "shape": [1], "values": [0.0]}}, "scale": 1.0}},
)
TYPES = ("float64", "float32", "int64", "int32", "bool", "str", "O")
FILLS = (-1, 0, 1, 2, 40, 2**31 - 1, -2_000_000, 10**9, 2**63 - 1, 1e300, -1e300, 1e-320, float("nan"), "inf", 0.5)


# JSON


def json_mutant(document, number, random):
    """Return the text of a changed document; every other mutant iterates over all fields and changes."""
    document = json.loads(json.dumps(document))
    if number % 2 == 0:
        paths = list(_paths(document, ()))
        number = number // 2 * _STRIDE % (len(paths) * len(CHANGES))
        _apply(document, paths[number % len(paths)], CHANGES[number // len(paths)], random)
        return _text(document, random)
    for _ in range(int(random.integers(1, 4))):
        paths = list(_paths(document, ()))
        _apply(document, paths[random.integers(len(paths))], CHANGES[random.integers(len(CHANGES))], random)
    return _text(document, random) if random.random() < 0.8 else bytes_mutant(_text(document, random), random)


def _paths(value, path):
    """Yield the paths of all fields; of a long list, only of its first and last items."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from _paths(value[key], (*path, key))
    elif isinstance(value, list) and (not value or isinstance(value[0], (dict, list))):
        for k in range(len(value)):
            yield from _paths(value[k], (*path, k))
    elif isinstance(value, list):
        for k in {0, len(value) - 1}:
            yield (*path, k)


def _apply(document, path, change, random):
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    with contextlib.suppress(TypeError, ValueError, LookupError, AttributeError, OverflowError):  # changed already
        change(holder, path[-1], random)


def _replace(value):
    def change(holder, key, random):
        holder[key] = copy.deepcopy(value)

    return change


def _drop(holder, key, random):
    del holder[key]


def _rename(holder, key, random):
    if isinstance(holder, dict):
        holder[random.choice(["more", "_model", "n_jobs", "__class__", key + "_"])] = holder.pop(key)


def _duplicate(holder, key, random):
    """Duplicate a name; see `_text`."""
    if isinstance(holder, dict):
        holder[f"{key}\0"] = holder[key]
    else:
        holder.insert(key, copy.deepcopy(holder[key]))


def _add(holder, key, random):
    if isinstance(holder, dict):
        holder[random.choice(["more", "_x", "predict", "n_jobs", "checkpoint", "shape"])] = 1
    else:
        holder.append(VALUES[random.integers(len(VALUES))])


def _swap(holder, key, random):
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    other = keys[random.integers(len(keys))]
    holder[key], holder[other] = holder[other], holder[key]


def _shorter(holder, key, random):
    value = holder[key]
    holder[key] = value[:-1] if isinstance(value, (list, str)) else value


def _longer(holder, key, random):
    value = holder[key]
    holder[key] = value + value if isinstance(value, (list, str)) else value


def _shuffled(holder, key, random):
    if isinstance(holder[key], list):
        holder[key] = [holder[key][k] for k in random.permutation(len(holder[key]))]


def _negated(holder, key, random):
    if isinstance(holder[key], (int, float)):
        holder[key] = -holder[key]


def _scaled(holder, key, random):
    if isinstance(holder[key], (int, float)):
        holder[key] = holder[key] * float(random.choice([2, 1e-3, 1e10, 1e-10, 1e100, 1e-100]))


def _next(holder, key, random):
    if isinstance(holder[key], int):
        holder[key] = holder[key] + int(random.choice([-1, 1]))


def _deep(holder, key, random):
    value = holder[key]
    for _ in range(40):
        value = [value]
    holder[key] = value


def _replace_item(holder, key, random):
    if isinstance(holder[key], list) and holder[key]:
        holder[key][random.integers(len(holder[key]))] = VALUES[random.integers(len(VALUES))]


def _filled(value):
    """Return a change that sets all values of an array or a list."""

    def change(holder, key, random):
        if isinstance(holder[key], list):
            holder[key] = [value] * len(holder[key])

    return change


def _reshaped(change_shape):
    """Return a change of the shape of an array, with a suitable number of values."""

    def change(holder, key, random):
        array = holder[key]
        if not isinstance(array, dict) or not isinstance(array.get("values"), list) or not array["values"]:
            return
        shape = [int(n) for n in change_shape(list(array.get("shape", [1])), random)]
        n_values = int(np.prod(shape)) if shape else 1
        if 0 <= n_values < 100_000:
            values = array["values"]
            array["shape"], array["values"] = shape, (values * (n_values // len(values) + 1))[:n_values]

    return change


def _retyped(holder, key, random):
    array = holder[key]
    if isinstance(array, dict) and isinstance(array.get("values"), list):
        array["type"] = str(random.choice(TYPES))
        if array["type"].startswith("int"):
            array["values"] = [int(value) if isinstance(value, (int, float)) else 0 for value in array["values"]]


def _change_dimension(shape, random):
    k = random.integers(len(shape)) if shape else 0
    return [n + int(random.choice([-1, 1])) if i == k else n for i, n in enumerate(shape)]


CHANGES = (
    *(_replace(value) for value in VALUES),
    *(_filled(value) for value in FILLS),
    *(
        _drop,
        _rename,
        _duplicate,
        _add,
        _swap,
        _shorter,
        _longer,
        _shuffled,
        _negated,
        _scaled,
        _next,
        _deep,
        _replace_item,
    ),
    _retyped,
    _reshaped(_change_dimension),
    _reshaped(lambda shape, random: shape[::-1]),
    _reshaped(lambda shape, random: [*shape, 1]),
    _reshaped(lambda shape, random: shape[:-1]),
    _reshaped(lambda shape, random: [int(np.prod(shape))]),
    _reshaped(lambda shape, random: [0, *shape[1:]]),
    _reshaped(lambda shape, random: [3 * n for n in shape]),
    _reshaped(lambda shape, random: [1 for _ in shape]),
)


def _text(document, random):
    try:
        text = json.dumps(document, ensure_ascii=bool(random.random() < 0.9))
        return text.replace("\\u0000", "").encode()
    except (UnicodeEncodeError, RecursionError):
        return json.dumps({"schema": "evlearn.model"}).encode()


# Bytes, and archives of arrays


def bytes_mutant(content, random):
    """Return bytes with some changed, removed, repeated or inserted."""
    content = bytearray(content)
    for _ in range(int(random.integers(1, 5))):
        if not content:
            break
        position = int(random.integers(len(content)))
        action = random.integers(6)
        if action <= 2:
            content[position] = int(
                random.choice([0, 255, random.integers(256), content[position] ^ (1 << random.integers(8))])
            )
        elif action == 3:
            del content[position : position + int(random.integers(1, 20))]
        elif action == 4:
            content[position:position] = content[position : position + int(random.integers(1, 20))]
        else:
            content = content[:position] if random.random() < 0.3 else content
    return bytes(content)


def archive_mutant(content, number, random, seal=None):
    """Return an archive with changed arrays or bytes; `seal` repairs the digest."""
    mode = number % 4
    if mode == 0:
        return bytes_mutant(content, random)
    arrays = read_archive(_File(content), ("|u1", "|b1", "<u2", "<i4", "<i8", "<f4", "<f8"))
    header = json.loads(arrays.pop("header").tobytes()) if "header" in arrays else None
    if mode == 1 and header is not None:
        header = json.loads(_readable(json_mutant(header, number // 4, random), header))
    else:
        for _ in range(int(random.integers(1, 3))):
            name = list(arrays)[(number // 4) % len(arrays)] if mode == 2 else str(random.choice(list(arrays)))
            with contextlib.suppress(ValueError, TypeError, OverflowError):  # not every change suits every array
                _change_array(arrays, name, random)
            if not arrays:
                break
    if header is None:
        return _serialize(arrays, random)
    if seal is not None and mode != 1 and arrays:
        header = seal(header, arrays)
    return _serialize({"header": header_array(header), **arrays}, random)


def _readable(text, alternative):
    try:
        json.loads(text)
    except ValueError:
        return json.dumps(alternative)
    return text


def _change_array(arrays, name, random):
    array = arrays[name]
    action = int(random.integers(11))
    if action == 0:
        del arrays[name]
    elif action == 1:
        arrays["more"] = array
    elif action == 2:
        arrays[name] = array.astype(
            random.choice(["u1", "?", "<i4", "<i8", "<f4", "<f8", ">f8", "<u8", "S3", "<c16"])
        )
    elif action == 3:
        arrays[name] = np.full_like(array, _fill(array, random))
    elif action == 4 and array.size:
        arrays[name] = array.copy()
        arrays[name].reshape(-1)[random.integers(array.size)] = _fill(array, random)
    elif action == 5:
        arrays[name] = array[..., :-1] if array.ndim else array[None]
    elif action == 6:
        arrays[name] = array[:-1] if array.ndim else array[None]
    elif action == 7:
        arrays[name] = array[None] if random.random() < 0.5 else array.reshape(-1)
    elif action == 8:
        arrays[name] = np.concatenate([array, array]) if array.ndim else array
    elif action == 9:
        arrays[name] = array[:0] if array.ndim else array
    else:
        other = str(random.choice(list(arrays)))
        arrays[name], arrays[other] = arrays[other], arrays[name]


def _fill(array, random):
    if array.dtype.kind == "b":
        return bool(random.integers(2))
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        return array.dtype.type((limits.min, limits.max, 0, 1, min(10**9, limits.max))[random.integers(5)])
    return float(random.choice([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, 1e-320, 1e9]))


def _serialize(arrays, random):
    """Return an archive, which is compressed or has a wrong shape in a header in some cases."""
    buffer = io.BytesIO()
    if random.random() < 0.05:
        np.savez_compressed(buffer, **arrays)
        return buffer.getvalue()
    write_archive(buffer, arrays)
    content = buffer.getvalue()
    if random.random() < 0.1:
        position = content.find(b"'shape': (") + 10
        digits = str(random.choice(["9", "99999999999", "0", "-1", "0, 999999999999"])).encode()
        content = content[:position] + digits + content[position + len(digits) :]
    return content


class _File(io.BytesIO):
    """Bytes as a file."""


def is_archive(content):
    """Return True if a file is an archive."""
    return zipfile.is_zipfile(io.BytesIO(content))
