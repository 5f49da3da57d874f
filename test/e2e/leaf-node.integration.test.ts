// A client behind a leaf node of NATS starts a run at the hub and queries its state; JetStream's own requests do not get through.

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { freePort } from "@switchyard/local-servers/free-port";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { connect, type NatsConnection } from "nats";
import { ensureKeys } from "../../apps/cli/src/key-directory.ts";
import { seedFile } from "../../apps/cli/src/nkey-seed.ts";
import { startYardDev, type DevInstance } from "../lib/yard-dev.ts";

// Registered first, so that the instance stops before its directory and servers are removed.
let dev: DevInstance | null = null;
after(() => dev?.stop());
const directory = await testDirectory();
const [project, stateDir] = [join(directory, "project"), join(directory, "state")];
await mkdir(join(project, "agents"), { recursive: true });
const AGENT =
  "name: greeter\ndescription: d\nmodel: scripted/plan\nplan:\n  answer: 'hello {{/input}}'\n";
await writeFile(join(project, "agents/greeter.yaml"), AGENT);
await writeFile(
  join(project, "policy.yaml"),
  "version: 1\nrules: [{ id: nothing, effect: deny }]\n",
);
await writeFile(join(project, "mcp-servers.json"), '{"mcpServers":{}}');

const keys = await ensureKeys(join(stateDir, "keys"), { clients: ["team-a"] });
const port = await freePort();
const hub = await testNats({
  asProgram: true,
  authorization: `${keys.authorization({ anonymous: true })}
leafnodes { listen: "127.0.0.1:${port}" }
${jetStreamOf("hub")}`,
});
const seed = (await readFile(seedFile(keys.path, "team-a"), "utf8")).trim();
const remotes = `leafnodes { remotes: [{ url: "nats-leaf://127.0.0.1:${port}", nkey: "${seed}" }] }`;
dev = await startYardDev({ project, stateDir, env: { YARD_NATS_URL: hub.url } });

for (const [kind, more] of [
  ["without JetStream", "jetstream: disabled"],
  ["with a JetStream of its own", jetStreamOf("site")],
] as const)
  test(`behind a leaf node ${kind}: runs are started and queried, under the name of its key alone`, async () => {
    const leaf = await testNats({
      asProgram: true,
      authorization: `server_name: leaf\n${remotes}\n${more}`,
    });
    const client = await connect({ servers: leaf.url, inboxPrefix: "_INBOX_team-a" });
    after(() => client.close());
    const runId = kind.replaceAll(" ", "-");
    const command = "yard.cmd.team-a.run.start.greeter";
    const stored = await until(() => ask(client, command, { runId, input: "site" }));
    assert.deepEqual(
      { stream: stored["stream"], domain: stored["domain"] },
      { stream: "YARD_COMMANDS_team-a", domain: "hub" },
    );
    const run = await until(async () => {
      const reply = await ask(client, "yard.rpc.team-a.runs.get", { runId });
      const value = reply?.["value"] as { run: Record<string, unknown> } | undefined; // the reply of runs.get
      return value?.run["status"] === "succeeded" ? value.run : null;
    });
    assert.deepEqual([run["output"], run["requester"]], ["hello site", "team-a"]);

    // The leaf's key has no more rights than its user at the hub.
    for (const subject of ["yard.cmd.cli.run.start.greeter", "yard.rpc.cli.runs.list"])
      assert.equal(await ask(client, subject, { runId: "other", input: "x" }), null, subject);
    for (const api of ["$JS.API", "$JS.hub.API"]) {
      const info = await ask(client, `${api}.STREAM.INFO.OBJ_YARD_PAYLOADS_team-a`, {});
      assert.ok(info === null || "error" in info, `${api} does not reach the hub's JetStream`);
    }
  });

/** The answer, or null when there is none within two seconds. */
async function ask(
  client: NatsConnection,
  subject: string,
  body: unknown,
): Promise<Record<string, unknown> | null> {
  try {
    const { data } = await client.request(subject, JSON.stringify(body), { timeout: 2_000 });
    return JSON.parse(new TextDecoder().decode(data)) as Record<string, unknown>; // all answers are objects
  } catch {
    return null;
  }
}

function jetStreamOf(domain: string): string {
  const store = JSON.stringify(join(directory, domain));
  return `jetstream { store_dir: ${store}, domain: ${domain}, sync_interval: always, max_file_store: 1TB }`;
}
