import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startProtocolsWorld } from "../lib/protocols-world.ts";
import { withCredential } from "../lib/with-credential.ts";

const run = promisify(execFile);
const world = await startProtocolsWorld();
const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const SUITE = fileOf("../../node_modules/@modelcontextprotocol/conformance/dist/index.js");
const EXPECTED = fileOf("protocols-project/mcp-expected-failures.yaml");

test("one server behind /mcp/servers passes what both revisions require of servers, but for what the file of expected failures gives a reason for", async () => {
  // Two servers: one on stdio does not name the call of its question, so both callers would get it.
  const server = { command: process.execPath, args: [fileOf("fixtures/conformance-server.ts")] };
  await world.send("/mcp/servers", { id: "suite-next", ...server });
  await Promise.all([check("2025-11-25", "suite"), check("2026-07-28", "suite-next")]);
});

async function check(revision: string, server: string): Promise<void> {
  const key = await world.keyOf(`suite-${revision}`, ["operator"]);
  const url = await withCredential(world.url, key);
  const args = ["server", "--url", `${url}/mcp/servers/${server}`, "--requirements", revision];
  const options = { maxBuffer: 64 * 1024 * 1024, timeout: 200_000 };
  const more = ["--expected-failures", EXPECTED];
  const { stdout } = await run(process.execPath, [SUITE, ...args, ...more], options).catch(
    (error: { stdout?: string; stderr?: string }) =>
      assert.fail(`${error.stdout ?? ""}\n${error.stderr ?? ""}`.slice(-6_000)),
  );
  assert.match(stdout, /\d+ passed/);
}
