import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";
import { childEnvironment } from "./isolate-server.ts";

test("a server gets the variables that describe how programs run and reach the network here, and no secret [AR8]", async () => {
  const home = await testDirectory();
  const passed = {
    PATH: "/usr/bin",
    HOME: home,
    TMPDIR: "/var/tmp",
    LANG: "C.UTF-8",
    HTTPS_PROXY: "http://proxy:3128",
    no_proxy: "localhost",
    NODE_EXTRA_CA_CERTS: "/ca.pem",
    SSL_CERT_FILE: "/ca.pem",
    SSL_CERT_DIR: "/certs",
    REQUESTS_CA_BUNDLE: "/ca.pem",
    CURL_CA_BUNDLE: "/ca.pem",
    npm_config_cafile: "/ca.pem",
    npm_config_registry: "https://registry.example",
  };
  const env = { ...passed, OPENAI_API_KEY: "canary", YARD_KEYS_DIR: "canary", LC_ALL: "" };
  const { variables, privateHome } = await childEnvironment({ env, stateDir: home, server: "a" });
  assert.deepEqual(variables, passed);
  assert.equal(privateHome, null);
});

test("a broker without a home that it may write to gives each server one of its own", async () => {
  const stateDir = await testDirectory();
  for (const HOME of [undefined, "", "~", "/nonexistent"]) {
    const { variables, privateHome } = await childEnvironment({
      env: { HOME },
      stateDir,
      server: "files",
    });
    assert.equal(privateHome, join(stateDir, "mcp-homes", "files"));
    assert.equal(variables["HOME"], privateHome);
    assert.equal((await stat(privateHome)).mode & 0o777, 0o700);
  }
});

test("the process of a server begins with that environment, and what its entry declares comes first", async () => {
  const world = await testWorld();
  const broker = await world.startBroker({
    servers: [fixtureServer("files", ["fixture-server.ts"], { env: { SSL_CERT_DIR: "/own" } })],
    env: { SSL_CERT_FILE: "/ca.pem", SSL_CERT_DIR: "/certs", SECRET: "canary" },
  });
  await broker.until("files", ({ status }) => status === "connected");
  const { text } = await broker.call("files", { tool: "environment", args: {} });
  const { HOME, YARD_MCP_CHILD, ...rest } = JSON.parse(text) as Record<string, string>;
  assert.deepEqual(rest, {
    PATH: process.env["PATH"],
    SSL_CERT_FILE: "/ca.pem",
    SSL_CERT_DIR: "/own",
  });
  assert.match(HOME ?? "", /\/mcp-homes\/files$/);
  assert.match(YARD_MCP_CHILD ?? "", /^[0-9a-f-]{36}$/);
});
