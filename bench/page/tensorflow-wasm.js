// TensorFlow.js on its WASM backend, on one thread.
import * as tf from "@tensorflow/tfjs-core";
import { setThreadsCount, setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import { model } from "./tensorflow.js";

export async function load(checkpoint) {
  setWasmPaths("/bench/node_modules/@tensorflow/tfjs-backend-wasm/dist/");
  setThreadsCount(1);
  await tf.setBackend("wasm");
  await tf.ready();
  if (tf.getBackend() !== "wasm") throw new Error(`TensorFlow.js took its backend ${tf.getBackend()}`);
  return model(tf, checkpoint);
}
