// Links of all documents: what they name in the repository is there, and so is the heading. Others' addresses are
// listed and not asked, for a test must not depend on them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const tracked = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" }).split("\n").filter(Boolean);
const documents = tracked.filter((file) => /\.(md|html|qmd)$/.test(file) && existsSync(join(root, file)));
const text = (file) => readFileSync(join(root, file), "utf8");

/** What a document's links lead to. Code is no link. */
function links(file) {
  const body = text(file);
  if (!file.endsWith(".md")) return [...body.matchAll(/\b(?:href|src)=["']([^"'{}]+)["']/g)].map(([, to]) => to);
  const prose = body.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g), ...prose.matchAll(/^\[[^\]]+\]:\s+(\S+)/gm), ...prose.matchAll(/<(https?:[^>\s]+)>/g)].map(([, to]) => to);
}

/** The anchors of a document: headings as code hosts name them, and ids. */
function anchors(file) {
  const body = text(file);
  const ids = [...body.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id);
  const headings = file.endsWith(".md") ? [...body.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#+\s+(.+)$/gm)] : [];
  return new Set([...ids, ...headings.map(([, heading]) => heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").trim().replaceAll(/\s/g, "-"))]);
}

const isForeign = (to) => /^[a-z][a-z0-9+.-]*:|^\/\//i.test(to);
/** Made by the build, by npm, or by whoever copies an example. */
const isMade = (path) => /(^|\/)node_modules\//.test(path) || /^(pkg\/|www\/examples\/|www\/pkg\/|longview\/)/.test(path) || path.startsWith("..");
/** Made while the page runs. */
const MADE_ANCHORS = new Set(["index.html#claims"]);

test("every link into the repository leads somewhere", () => {
  assert.ok(documents.length > 10, documents.join(", "));
  const dead = [];
  let count = 0;
  for (const file of documents) {
    for (const to of links(file).filter((link) => !isForeign(link))) {
      count += 1;
      const [path, anchor] = decodeURI(to).split("#");
      const target = path ? normalize(join(dirname(file), path.split("?")[0])) : file;
      const isThere = existsSync(join(root, target));
      if (!isThere && !isMade(target)) dead.push(`${file}: ${to}`);
      const hasAnchors = isThere && anchor && /\.(md|html)$/.test(target);
      if (hasAnchors && !anchors(target).has(anchor) && !MADE_ANCHORS.has(`${target}#${anchor}`)) dead.push(`${file}: ${to} (no such heading)`);
    }
  }
  assert.ok(count > 30, `${count} links`);
  assert.deepEqual(dead, []);
});

test("other people's addresses are https, and are listed", () => {
  const foreign = new Map();
  for (const file of documents) for (const to of links(file).filter(isForeign)) foreign.set(to, file);
  const odd = [...foreign].filter(([to]) => !/^(https:\/\/|data:|mailto:)/.test(to));
  assert.deepEqual(odd, []);
  console.log([...foreign.keys()].filter((to) => to.startsWith("https:")).sort().join("\n"));
});
