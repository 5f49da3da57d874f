import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { startProtocolsWorld } from "../lib/protocols-world.ts";
import { pythonPackages } from "../lib/python-packages.ts";

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const bring = (name: string) => pythonPackages(fileOf(`python-mcp/requirements-${name}.txt`));
const [newest, older, oldest] = await Promise.all([
  bring("mcp"),
  bring("mcp-older"),
  bring("fastmcp2"),
]);
const isNone = [newest, older, oldest].every((packages) => "skip" in packages);
const world = isNone ? null : await startProtocolsWorld({ YARD_HTTP_REQUESTS_PER_MINUTE: "10000" });
const RICH = { command: process.execPath, args: [fileOf("fixtures/rich-server.ts")] };
if (world !== null) {
  await world.send("/mcp/servers", { id: "rich", ...RICH });
  await until(
    async () => ((await world.send("/mcp/servers/rich"))["server"] as { status?: string }).status,
    (status) => status === "connected",
  );
}

const CLIENTS = [
  ["mcp 2, 2026-07-28", newest, "sdk", "auto"],
  ["mcp 2, sessions", newest, "sdk", "legacy"],
  ["mcp 1", older, "sdk", "legacy"],
  ["FastMCP 4, 2026-07-28", newest, "fastmcp", "auto"],
  ["FastMCP 4, sessions", newest, "fastmcp", "legacy"],
  ["FastMCP 3", older, "fastmcp", "legacy"],
  ["FastMCP 2", oldest, "fastmcp", "legacy"],
] as const;

for (const way of ["http", "stdio"] as const)
  for (const [name, packages, kind, mode] of CLIENTS)
    test(
      `Python's ${name} uses all that ${way === "http" ? "/mcp" : "yard mcp serve"} offers`,
      { skip: "skip" in packages ? packages.skip : false },
      async () => {
        const { url, token } = world ?? assert.fail();
        if ("skip" in packages) return;
        const main = fileOf("../../apps/cli/src/main.ts");
        const command = {
          command: process.execPath,
          args: [main, "mcp", "serve", "--tools", "all"],
          env: {
            PATH: process.env["PATH"] ?? "",
            SWITCHYARD_GATEWAY_URL: url,
            SWITCHYARD_GATEWAY_TOKEN: token,
            SWITCHYARD_SESSION_KEY: "desk",
            SWITCHYARD_SIDE_EFFECTS_FILE: join(await testDirectory(), "effects.ndjson"),
          },
        };
        const said = await packages.run(
          fileOf("python-mcp/client.py"),
          { BASE: url, TOKEN: token, COMMAND: JSON.stringify(command), RICH: JSON.stringify(RICH) },
          [kind, mode, way],
        );
        assert.match(said, /^ok/);
      },
    );
