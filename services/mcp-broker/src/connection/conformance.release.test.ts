import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { testDirectory, testRedis } from "@switchyard/testing/test-servers";
import { parse } from "yaml";
import { linkClient, runScenario } from "../../test-conformance/run-scenario.ts";
import { packageFile } from "../../test-fixtures/test-broker.ts";

/**
 * The whole takes longer than a change may wait, so a part stands for it that has each kind once;
 * `YARD_CONFORMANCE=whole` runs every scenario that the revisions require.
 */
const PART: Readonly<Record<string, readonly string[]>> = {
  "2025-11-25": [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/scope-step-up",
    "auth/pre-registration",
  ],
  "2026-07-28": [
    "request-metadata",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "sep-2322-client-request-state",
    "auth/basic-cimd",
    "auth/resource-mismatch",
    "auth/iss-wrong-issuer",
    "auth/authorization-server-migration",
  ],
};
/** Each is two processes, and a person's machine has other work too. */
const AT_ONCE = 2;

const [redis, directory] = await Promise.all([testRedis(), testDirectory()]);
const command = await linkClient(directory);

for (const [revision, part] of Object.entries(PART)) {
  const required = await requiredBy(revision);
  const scenarios = process.env["YARD_CONFORMANCE"] === "whole" ? required : part;
  // oxlint-disable-next-line no-loop-func -- each test has the revision of its turn
  test(`the broker's connections pass the official suite for ${revision} [A2, A5]`, async () => {
    assert.deepEqual(
      scenarios.filter((scenario) => !required.includes(scenario)),
      [],
    );
    const waiting = [...scenarios];
    const failed: string[] = [];
    const worker = async (): Promise<void> => {
      for (let scenario = waiting.shift(); scenario !== undefined; scenario = waiting.shift()) {
        const run = await runScenario(scenario, {
          command,
          revision,
          redisUrl: redis.url,
          directory,
        });
        const passed = run.checks.filter(({ status }) => status === "SUCCESS");
        if (run.exitCode !== 0 || passed.length === 0) failed.push(`${scenario}\n${run.output}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    assert.deepEqual(failed, []);
  });
}

/** The scenarios for clients in a revision's frozen list. */
async function requiredBy(revision: string): Promise<string[]> {
  const file = packageFile(`@modelcontextprotocol/conformance/requirements/${revision}.yaml`);
  const { client } = parse(await readFile(file, "utf8")) as { client: string[] };
  return client;
}
