import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { builtConsole } from "../build.ts";

interface Chunk {
  readonly file: string;
  readonly src?: string;
  readonly imports?: readonly string[];
}

const FIRST_VIEW = 90 * 1024;
const ALL = 150 * 1024;

test("the JavaScript of any first view stays below 90 KiB packed, and all of it below 150 KiB", async () => {
  const directory = await builtConsole();
  const manifest = JSON.parse(
    await readFile(join(directory, ".vite/manifest.json"), "utf8"),
  ) as Record<string, Chunk>;
  const sizeOf = async (key: string): Promise<number> =>
    gzipSync(await readFile(join(directory, manifest[key]?.file ?? ""))).length;
  const scripts = Object.keys(manifest).filter((key) => manifest[key]?.file.endsWith(".js"));
  const sizes = new Map(
    await Promise.all(scripts.map(async (key) => [key, await sizeOf(key)] as const)),
  );
  const sum = (keys: Iterable<string>): number =>
    [...keys].reduce((total, key) => total + (sizes.get(key) ?? 0), 0);
  const needed = (key: string, found = new Set<string>()): Set<string> => {
    if (found.has(key)) return found;
    found.add(key);
    for (const other of manifest[key]?.imports ?? []) needed(other, found);
    return found;
  };
  const views = scripts.filter((key) => key.includes("pages/") || key.includes("run-page"));
  assert.ok(views.length >= 10, scripts.join(" "));
  for (const view of views) {
    const first = sum(new Set([...needed("index.html"), ...needed(view)]));
    assert.ok(first <= FIRST_VIEW, `${view}: ${first} bytes`);
  }
  const all = sum(scripts);
  assert.ok(all <= ALL, `all: ${all} bytes`);
});
