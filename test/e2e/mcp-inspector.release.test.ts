import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  INSPECTOR,
  installedCli,
} from "../../services/agent-runner/test-fixtures/installed-cli.ts";
import { startProtocolsWorld } from "../lib/protocols-world.ts";

const inspector = await installedCli(INSPECTOR);
const skip = "skip" in inspector ? inspector.skip : false;
const world = skip === false ? await startProtocolsWorld() : null;
const home = await mkdtemp(join(tmpdir(), "yard-inspector-"));
after(() => rm(home, { recursive: true, force: true }));

/** The Inspector's output for a method of `/mcp`. */
async function inspect(path: string, ...args: string[]) {
  const { url, token } = world ?? assert.fail(String(skip));
  const program = "path" in inspector ? inspector.path : assert.fail(inspector.skip);
  const target = [
    "--cli",
    `${url}${path}`,
    "--transport",
    "http",
    "--header",
    `Authorization: Bearer ${token}`,
  ];
  return new Promise<{ stdout: string; stderr: string; code: number | null }>((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...target, ...args],
      { env: { PATH: process.env["PATH"], HOME: home }, timeout: 60_000 },
      (_error, stdout, stderr) => resolve({ stdout, stderr, code: child.exitCode }),
    );
  });
}

test(
  "the MCP Inspector finds nothing wrong with the schemas of the tools, its strict check on [AR15]",
  { skip },
  async () => {
    for (const path of ["/mcp", "/mcp/servers/suite"]) {
      const { stdout, stderr, code } = await inspect(path, "--method", "tools/list", "--strict");
      assert.equal(code, 0, `${path}: ${stderr}`);
      assert.ok((JSON.parse(stdout) as { tools: unknown[] }).tools.length > 0, path);
    }
  },
);

test("the MCP Inspector calls a tool, and reports an invalid credential", { skip }, async () => {
  const call = ["--method", "tools/call", "--tool-name", "mcp__suite__test_simple_text"];
  const { stdout, stderr, code } = await inspect("/mcp", ...call);
  assert.equal(code, 0, stderr);
  const { content } = JSON.parse(stdout) as { content: { type: string }[] };
  assert.equal(content[0]?.type, "text");
  const refused = await inspect("/mcp", ...call, "--header", "Authorization: Bearer yk_nothing");
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /auth_required/);
});
