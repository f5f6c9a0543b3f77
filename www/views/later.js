// The views of the live models: a page fetches them after its first picture.
export { default as attention } from "./attention.js";
export { default as claims } from "./claims.js";
export { default as compare } from "./compare.js";
export { default as perplexity } from "./perplexity.js";
