"""The steps that trainer/examples/steps.rs times, in JAX: the same checkpoint, tokens, optimiser and order.

python steps.py CHECKPOINT TOKENS STEPS prints {"losses": [...], "ms": [...], "computed_ms": [...]}, one number a step;
the last are what all threads computed.
"""

import json
import pathlib
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

sys.path.append(str(pathlib.Path(__file__).parent.parent))
from checkpoint import distance_bias, read_checkpoint

# As in trainer/src/recipe.rs.
WINDOWS, RATE, BETA1, BETA2, EPSILON, DECAY, CLIP = 16, 3e-3, 0.9, 0.98, 1e-8, 0.1, 1.0


@jax.custom_vjp
def embed(table, tokens):
    return table[tokens]


def embed_forward(table, tokens):
    return table[tokens], (tokens, jnp.zeros(table.shape[0]))


def embed_backward(kept, gradient):
    # A product with one-hot rows: on the CPU much faster than JAX's own scatter.
    tokens, rows = kept
    hot = jax.nn.one_hot(tokens.reshape(-1), rows.shape[0], dtype=gradient.dtype)
    return hot.T @ gradient.reshape(-1, gradient.shape[-1]), None


embed.defvjp(embed_forward, embed_backward)


def norm(x, weight, bias, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + epsilon) * weight + bias


def make_loss(config, bias):
    """Mean loss of a batch, from weights in [in][out]; `bias` is [heads][T][T]."""
    width, heads, epsilon = config["d_model"], config["heads"], config["norm_epsilon"]

    def loss(weights, sources, targets):
        windows, length = sources.shape
        x = embed(weights["token_embedding.weight"], sources) * config["embedding_scale"]
        for layer in range(config["layers"]):
            part = lambda name: weights[f"layers.{layer}.{name}"]
            linear = lambda y, name: y @ part(name + ".weight") + part(name + ".bias")
            normed = lambda name: norm(x, part(name + ".weight"), part(name + ".bias"), epsilon)
            qkv = linear(normed("attention_norm"), "attention.qkv").reshape(windows, length, 3, heads, width // heads)
            q, k, v = qkv.transpose(2, 0, 3, 1, 4)
            scores = (q * config["score_scale"]) @ k.swapaxes(-1, -2) + bias
            weight = jnp.exp(scores - jax.lax.stop_gradient(scores.max(-1, keepdims=True)))
            attended = (weight / weight.sum(-1, keepdims=True)) @ v
            x = x + linear(attended.transpose(0, 2, 1, 3).reshape(windows, length, width), "attention.out")
            x = x + linear(jax.nn.gelu(linear(normed("mlp_norm"), "mlp.up"), approximate=True), "mlp.down")
        x = norm(x, weights["final_norm.weight"], weights["final_norm.bias"], epsilon)
        logits = x @ weights["token_embedding.weight"].T
        largest = jax.lax.stop_gradient(logits.max(-1, keepdims=True))
        log_sum = jnp.log(jnp.exp(logits - largest).sum(-1)) + largest[..., 0]
        chosen = (logits * (targets[..., None] == jnp.arange(logits.shape[-1]))).sum(-1)
        return (log_sum - chosen).mean()

    return loss


def make_step(loss):
    """One step of AdamW with clipping by the global norm; the old weights and moments are used up."""

    def step(weights, first, second, count, sources, targets):
        value, gradients = jax.value_and_grad(loss)(weights, sources, targets)
        length = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
        clip = jnp.minimum(1.0, CLIP / (length + 1e-6))
        gradients = jax.tree.map(lambda g: g * clip, gradients)
        first = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, first, gradients)
        second = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, second, gradients)

        def move(path, weight, m, v):
            update = m / (1 - BETA1 ** (count + 1)) / (jnp.sqrt(v / (1 - BETA2 ** (count + 1))) + EPSILON)
            decays = path[-1].key.endswith((".qkv.weight", ".out.weight", ".up.weight", ".down.weight"))
            return weight - RATE * (update + (DECAY if decays else 0.0) * weight)

        return jax.tree_util.tree_map_with_path(move, weights, first, second), first, second, value

    return jax.jit(step, donate_argnums=(0, 1, 2))


def main():
    path, tokens, steps = sys.argv[1], np.fromfile(sys.argv[2], np.uint32).astype(np.int32), int(sys.argv[3])
    config, tensors = read_checkpoint(path)
    length = config["trained_length"]
    assert config["encoding"]["kind"] == "alibi"
    by_distance = distance_bias(config, tensors, length)
    distance = np.arange(length)[:, None] - np.arange(length)
    bias = np.where(distance < 0, np.float32(-1e9), by_distance[:, np.maximum(distance, 0)])
    is_linear = lambda name, value: name.startswith("layers.") and value.ndim == 2
    weights = {name: jnp.asarray(value.T.copy() if is_linear(name, value) else value) for name, value in tensors.items()}
    first, second = (jax.tree.map(jnp.zeros_like, weights) for _ in range(2))
    step = make_step(make_loss(config, jnp.asarray(bias)))
    losses, times, computed = [], [], []
    for count in range(steps):
        start, before = time.perf_counter(), time.process_time()
        at = np.arange(count * WINDOWS, (count + 1) * WINDOWS)[:, None] * length + np.arange(length)
        weights, first, second, loss = step(weights, first, second, jnp.float32(count), tokens[at], tokens[at + 1])
        losses.append(float(loss))
        times.append((time.perf_counter() - start) * 1e3)
        computed.append((time.process_time() - before) * 1e3)
    print(json.dumps({"losses": losses, "ms": times, "computed_ms": computed}))


main()
