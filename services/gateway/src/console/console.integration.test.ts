import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { startGatewayWorld } from "../../test/gateway-world.ts";

const directory = await testDirectory();
await mkdir(join(directory, "assets"));
await writeFile(join(directory, "index.html"), "<!doctype html><title>console</title>");
await writeFile(
  join(directory, "assets/main-1a2b.js"),
  `export const text = "${"a".repeat(500)}";`,
);
await writeFile(join(directory, "secret.key"), "not a file of a page");
const world = await startGatewayWorld();
const { url } = await world.startGateway({ YARD_CONSOLE_DIR: `${directory}/` });
const html = { accept: "text/html,application/xhtml+xml" };

test("every address of a view is the page, under a policy that runs nothing but its own files", async () => {
  for (const path of ["/", "/runs/cli~order-1?view=raw", "/index.html", "/no/such/view"]) {
    const page = await fetch(`${url}${path}`, { headers: html });
    assert.equal(page.status, 200, path);
    assert.match(await page.text(), /<title>console/);
    assert.equal(page.headers.get("cache-control"), "no-cache");
    assert.equal(page.headers.get("x-content-type-options"), "nosniff");
    const policy = page.headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /require-trusted-types-for 'script'/);
    assert.doesNotMatch(policy, /unsafe/);
  }
});

test("a program that asks for the root gets a text with the addresses, and HEAD the same status", async () => {
  for (const accept of ["*/*", "application/json", "text/plain"]) {
    const root = await fetch(url, { headers: { accept } });
    assert.equal(root.status, 200, accept);
    assert.match(root.headers.get("content-type") ?? "", /^text\/plain/);
    assert.match(root.headers.get("vary") ?? "", /accept/);
    const text = await root.text();
    for (const address of ["/api/v1/openapi.json", "/mcp", "/v1/models", "/readyz"])
      assert.ok(text.includes(address), address);
    const head = await fetch(url, { method: "HEAD", headers: { accept } });
    assert.deepEqual([head.status, await head.text()], [200, ""], accept);
  }
  const page = await fetch(url, { method: "HEAD", headers: html });
  assert.deepEqual(
    [page.status, page.headers.get("content-type")],
    [200, "text/html; charset=utf-8"],
  );
  assert.equal((await fetch(url, { method: "POST" })).status, 404);
});

test("a file with a digest in its name is cached forever, and is sent compressed", async () => {
  const file = await fetch(`${url}/assets/main-1a2b.js`);
  assert.equal(file.headers.get("content-type"), "text/javascript; charset=utf-8");
  assert.match(file.headers.get("cache-control") ?? "", /immutable/);
  assert.equal(file.headers.get("content-encoding"), "gzip");
  assert.match(await file.text(), /a{500}/);
});

test("requests that are not the console's keep their problem: the API, other methods, programs, other files", async () => {
  const statusOf = async (path: string, init: RequestInit = {}) =>
    (await fetch(`${url}${path}`, { headers: html, ...init })).status;
  assert.equal(await statusOf("/api/v1/runs"), 401);
  assert.equal(await statusOf("/api/v1/nothing/here"), 401);
  assert.equal(await statusOf("/api/nothing"), 401);
  assert.equal(await statusOf("/runs", { method: "POST" }), 404);
  assert.equal(await statusOf("/runs", { headers: { accept: "application/json" } }), 404);
  assert.equal(await statusOf("/assets/gone.js", { headers: { accept: "*/*" } }), 404);
  const secret = await fetch(`${url}/secret.key`, { headers: { accept: "*/*" } });
  assert.equal(secret.status, 404);
});
