// The composition at work: a model behind a key, an MCP server that npx fetches, three runners, and an end and a new begin in the middle.
//
//   YARD_TEST_DOCKER=1 npm run test:integration -- deploy/test/compose-up-work
//
// Without a registry, see composition.ts. The model's server and a registry for npx are in the test itself, on the address that containers know this
// machine by.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { startModelServer } from "../../services/agent-runner/test-fixtures/model-server.ts";
import {
  STEP_MS,
  composition,
  docker,
  removeProject,
  succeeded,
  whyNoComposition,
} from "./composition.ts";
import { eventsSoFar, gatewayOf, hasEnded, runOf, startRun } from "./composition-http.ts";
import { startSmallRegistry } from "./small-registry.ts";

const skip = whyNoComposition();
const world = await composition("work");
const { project } = world;
const WAIT = { timeoutMs: 120_000 };
const TOOLS = "mcp__stamps__stamp, mcp__everything__trigger-long-running-operation";

after(async () => {
  if (skip === false) world.remove();
  await removeProject(world);
});

test(
  "the composition with a model behind a key, an MCP server by npx and three runners; nothing is lost by down and up",
  { skip, timeout: 4 * STEP_MS },
  async (t) => {
    const host = succeeded(
      docker(["network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}"]),
    ).trim();
    const model = await startModelServer(host);
    const registry = await startSmallRegistry(host);
    await writeProject({ registry: registry.url, model: new URL(model.url).port });
    const settings = { OPENAI_API_KEY: "sk-of-the-test", YARD_MODELS: "models.json" };
    const compose = (...args: string[]) => world.compose(args, settings);
    const up = (...args: string[]) => compose("up", "--detach", "--wait", ...args);
    world.build();
    succeeded(up());
    const http = gatewayOf({ ...world, compose: (args) => compose(...args) });
    const ended = (runId: string) => until(() => runOf(http, runId), hasEnded, WAIT);

    await t.test(
      "a run asks the model with the key, and calls the server that npx fetched",
      async () => {
        await until(
          () => compose("logs", "broker").text,
          (log) => log.includes("stamps 1.0.0"),
          WAIT,
        );
        model.answer(
          { calls: [{ id: "c1", name: "mcp__stamps__stamp", args: '{"text":"a letter"}' }] },
          { text: ["It says: stamped."] },
        );
        await startRun(http, { agent: "clerk", input: "Stamp it", runId: "asks" });
        const run = await ended("asks");
        assert.deepEqual([run.status, run.output], ["succeeded", "It says: stamped."]);
        assert.deepEqual(
          model.requests.map(({ authorization }) => authorization),
          ["Bearer sk-of-the-test", "Bearer sk-of-the-test"],
        );
        assert.match(JSON.stringify(model.requests[1]?.body), /stamped a letter/);
        assert.equal(registry.fetched(), 1);
      },
    );

    await t.test(
      "three runners share the runs, and those of one that is killed continue in the others",
      async () => {
        succeeded(up("--scale", "runner=3", "--no-recreate"));
        const runners = succeeded(compose("ps", "--quiet", "runner"))
          .trim()
          .split("\n");
        assert.equal(runners.length, 3);
        const runs = Array.from({ length: 12 }, (_, n) => `shared-${n}`);
        for (const runId of runs) await startRun(http, { agent: "patient", input: "x", runId });
        await until(
          () => eventsSoFar(http, "shared-0"),
          (text) => /^event: tool-/m.test(text),
          WAIT,
        );
        succeeded(docker(["kill", runners[0] ?? ""]));
        for (const runId of runs) assert.equal((await ended(runId)).status, "succeeded", runId);
      },
    );

    await t.test(
      "down in the middle of a call, and up: the run continues, and earlier state is there",
      async () => {
        await startRun(http, { agent: "patient", input: "x", runId: "through" });
        await until(
          () => eventsSoFar(http, "through"),
          (text) => /^event: tool-/m.test(text),
          WAIT,
        );
        succeeded(compose("--profile", "cli", "down"));
        assert.equal(compose("ps", "--all", "--quiet").text.trim(), "");
        succeeded(up());
        assert.equal((await ended("through")).status, "succeeded");
        assert.equal((await runOf(http, "asks")).output, "It says: stamped.");
        assert.match(
          succeeded(compose("--profile", "cli", "run", "--rm", "--no-TTY", "auditor", "verify")),
          /intact/,
        );
        assert.equal(registry.fetched(), 1, "what npx fetched is kept in a volume");
      },
    );

    await t.test(
      "a backup, everything removed, and restored: runs and keys are as before",
      async () => {
        const backup = await testDirectory();
        const folders = ["/keys", "/nats-data", "/redis-data", "/workspaces"];
        const run = ["run", "--rm", "--no-TTY", "--no-deps", "--volume", `${backup}:/backup`];
        const script = (action: string) =>
          succeeded(
            compose(
              ...run,
              "--entrypoint",
              "sh",
              "data",
              "deploy/backup.sh",
              action,
              "/backup/state.tar.gz",
              ...folders,
            ),
          );
        succeeded(compose("stop"));
        script("save");
        succeeded(compose("--profile", "cli", "down", "--volumes"));
        script("restore");
        succeeded(up());
        // Uses the API key created before the stop.
        assert.equal((await runOf(http, "asks")).output, "It says: stamped.");
        await startRun(http, { agent: "patient", input: "x", runId: "afterwards" });
        assert.equal((await ended("afterwards")).status, "succeeded");
      },
    );
  },
);

/** Agents, rules, models and MCP servers of the test, beside those of the examples. */
async function writeProject(at: { registry: string; model: string }): Promise<void> {
  const agents = {
    clerk: "model: local/any\n",
    patient: `model: scripted/plan
on_unknown_outcome: retry
plan:
  steps:
    - calls:
        - { tool: mcp__everything__trigger-long-running-operation, with: { duration: 4, steps: 4 } }
  answer: done
`,
  };
  for (const [name, rest] of Object.entries(agents))
    await writeFile(
      join(project, `agents/${name}.yaml`),
      `name: ${name}\ndescription: Of the test.\ntools: [${TOOLS}]\n${rest}`,
    );
  const policyFile = join(project, "policies/demo.yaml");
  const policy = await readFile(policyFile, "utf8");
  const rule = `rules:
  - id: of-the-test
    effect: allow
    approval: auto
    who: { agents: [clerk, patient] }
    what: { tools: [${TOOLS}] }
`;
  await writeFile(policyFile, policy.replace("\nrules:\n", `\n${rule}`));
  const local = {
    type: "openai-compatible",
    baseURL: `http://host.docker.internal:${at.model}/v1`,
    apiKeyEnv: "OPENAI_API_KEY",
  };
  const models = { default: "scripted/plan", providers: { local } };
  await writeFile(join(project, "models.json"), JSON.stringify(models));
  const serversFile = join(project, "mcp-servers.json");
  const { servers } = JSON.parse(await readFile(serversFile, "utf8")) as { servers: object[] };
  const stamps = {
    id: "stamps",
    command: "npx",
    args: ["-y", "yard-test-stamps@1.0.0"],
    env: { npm_config_registry: at.registry },
    // No sandbox works in the broker's container.
    trusted: true,
  };
  await writeFile(serversFile, JSON.stringify({ servers: [...servers, stamps] }));
}
