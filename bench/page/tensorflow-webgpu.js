// TensorFlow.js on its WebGPU backend.
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-webgpu";
import { model } from "./tensorflow.js";

export async function load(checkpoint) {
  await tf.setBackend("webgpu");
  await tf.ready();
  if (tf.getBackend() !== "webgpu") throw new Error(`TensorFlow.js took its backend ${tf.getBackend()}`);
  return model(tf, checkpoint);
}
