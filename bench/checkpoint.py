"""Reads the shipped checkpoints with numpy alone."""

import json
import math
import pathlib

import numpy as np


def read_checkpoint(path):
    """(configuration, tensors by name in f32) of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    config = json.loads(header.pop("__metadata__")["longview"])["config"]
    kinds = {"F16": np.float16, "F32": np.float32}
    tensors = {}
    for name, entry in header.items():
        start, end = (8 + size + offset for offset in entry["data_offsets"])
        values = np.frombuffer(data[start:end], kinds[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"]).astype(np.float32)
    return config, tensors


def t5_buckets(encoding, length):
    """The bucket of each distance, [length]."""
    buckets, furthest = encoding["buckets"], encoding["max_distance"]
    exact, distance = buckets // 2, np.arange(length)
    ratio = np.log(np.maximum(distance, 1) / exact) / math.log(furthest / exact)
    far = np.minimum(exact + np.floor(ratio * (buckets - exact)).astype(np.int64), buckets - 1)
    return np.where(distance < exact, distance, far)


def distance_bias(config, tensors, length):
    """A head's bias by distance, [heads][length]; None where the encoding adds none."""
    encoding, heads = config["encoding"], config["heads"]
    if encoding["kind"] == "alibi":
        slopes = 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)
        return (-slopes[:, None] * np.arange(length)).astype(np.float32)
    if encoding["kind"] == "t5_bias":
        return np.ascontiguousarray(tensors["relative_bias.weight"][t5_buckets(encoding, length)].T)
    return None
