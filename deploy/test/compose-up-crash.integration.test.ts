// The composition for people and programs over HTTP, and its state after containers die:
//
//   YARD_TEST_DOCKER=1 npm run test:integration -- deploy/test/compose-up-crash
//
// Without a registry, see composition.ts.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import {
  STEP_MS,
  composition,
  docker,
  removeProject,
  succeeded,
  whyNoComposition,
} from "./composition.ts";
import { eventsSoFar, gatewayOf, hasEnded, runOf, startRun } from "./composition-http.ts";

const skip = whyNoComposition();
const world = await composition("crash");
const { compose, project, yard } = world;
const WAIT = { timeoutMs: 120_000 };

after(async () => {
  if (skip === false) world.remove();
  await removeProject(world);
});

/** Its call takes seconds, and is repeated when its outcome is unknown. */
const PATIENT = `name: patient
description: Waits for a slow tool.
model: scripted/plan
tools: [mcp__everything__trigger-long-running-operation]
on_unknown_outcome: retry
plan:
  steps:
    - calls:
        - tool: mcp__everything__trigger-long-running-operation
          with: { duration: 4, steps: 4 }
          as: slow
    - calls:
        - tool: mcp__everything__trigger-long-running-operation
          with: { duration: 1, steps: 1 }
          as: quick
  answer: "{{/results/slow/text}} {{/results/quick/text}}"
`;
const RULE = `rules:
  - id: patient-waits
    effect: allow
    approval: auto
    who: { agents: [patient] }
    what: { tools: [mcp__everything__trigger-long-running-operation] }
`;

test(
  "the composition over HTTP, and while its containers die",
  { skip, timeout: 4 * STEP_MS },
  async (t) => {
    await writeFile(join(project, "agents/patient.yaml"), PATIENT);
    const policyFile = join(project, "policies/demo.yaml");
    const policy = await readFile(policyFile, "utf8");
    await writeFile(policyFile, policy.replace("\nrules:\n", `\n${RULE}`));
    world.build();
    succeeded(compose(["up", "--detach", "--wait"]));
    const http = gatewayOf(world);

    await t.test("every container is healthy, or has done its work", () => {
      const containers = listed(compose(["ps", "--all", "--format", "json"]).text);
      const named = succeeded(compose(["config", "--services"]))
        .trim()
        .split("\n");
      assert.deepEqual(containers.map(({ Service }) => Service).toSorted(), named.toSorted());
      for (const { Service, State, Health, ExitCode } of containers)
        assert.ok(
          Health === "healthy" || (State === "exited" && ExitCode === 0),
          `${Service} is ${State} ${Health} ${ExitCode}`,
        );
      assert.ok(healthy().includes("gateway"));
    });

    await t.test("an API key starts a run by REST, and its events come as a stream", async () => {
      await startRun(http, { agent: "demo", input: "hello", runId: "first" });
      const events = await (await http("/api/v1/runs/first/events")).text();
      assert.match(events, /^event: finished$/m);
      assert.match(events, /You asked: \\"hello/);
      assert.equal(
        (await http("/api/v1/me", { headers: { authorization: "Bearer yk_wrong" } })).status,
        401,
      );
    });

    await t.test(
      "the console is served, with its script, and a key signs a browser in",
      async () => {
        const page = await http("/", { headers: { accept: "text/html" } });
        assert.equal(page.status, 200);
        const script = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1] ?? "none";
        const file = await http(script);
        assert.equal(file.status, 200);
        assert.match(file.headers.get("content-type") ?? "", /javascript/);
        const session = await http("/auth/session", { method: "POST" });
        assert.equal(session.status, 201);
        assert.match(session.headers.get("set-cookie") ?? "", /HttpOnly/);
      },
    );

    await t.test("NATS and Redis refuse another user's name and a missing password", () => {
      assert.match(compose(["exec", "-T", "redis", "redis-cli", "ping"]).text, /NOAUTH/);
      const asMonitor =
        'REDISCLI_AUTH="$(cat /keys/monitor.redis)" redis-cli --user monitor get yard';
      assert.match(compose(["exec", "-T", "redis", "sh", "-c", asMonitor]).text, /NOPERM/);
      const asAdmin = ["--env", "YARD_USER=admin", "cli", "streams", "ensure"];
      const posing = compose(["run", "--rm", "--no-TTY", ...asAdmin]);
      assert.notEqual(posing.status, 0);
      assert.match(posing.text, /another user than admin/);
      assert.notEqual(yard("audit", "verify").status, 0);
      const auditor = ["--profile", "cli", "run", "--rm", "--no-TTY", "auditor", "verify"];
      assert.match(succeeded(compose(auditor)), /intact/);
    });

    const services = healthy();
    for (const service of services)
      await t.test(`a run continues when ${service} dies during a call`, async () => {
        const runId = `dies-${service}`;
        await startRun(http, { agent: "patient", input: "wait", runId });
        await until(
          async () => /^event: tool-/m.test(await eventsSoFar(http, runId)),
          Boolean,
          WAIT,
        );
        const before = restarts(service);
        crash(service);
        const run = await until(() => runOf(http, runId), hasEnded, WAIT);
        assert.equal(run.status, "succeeded", JSON.stringify(run));
        assert.match(run.output ?? "", /Duration: 4 seconds.*Duration: 1 seconds/);
        const sequence = await until(
          async () => numbersIn(await eventsSoFar(http, runId)),
          (numbers) => numbers.length > 0,
          WAIT,
        );
        assert.deepEqual(
          sequence,
          Array.from(sequence, (_, index) => index + 1),
        );
        if (before !== null)
          await until(
            () => restarts(service),
            (now) => now === before + 1,
            WAIT,
          );
        succeeded(compose(["up", "--detach", "--wait"]));
      });

    await t.test("`down` leaves no container, volume or network", () => {
      assert.deepEqual(world.remove(), []);
    });

    function healthy(): string[] {
      return listed(compose(["ps", "--format", "json"]).text)
        .filter(({ Health }) => Health === "healthy")
        .map(({ Service }) => Service);
    }

    function container(service: string): string {
      return succeeded(compose(["ps", "--quiet", service])).trim();
    }

    /** Number of restarts by Docker; null for containers that only people start. */
    function restarts(service: string): number | null {
      if (isServer(service)) return null;
      const format = ["inspect", "--format", "{{.RestartCount}}", container(service)];
      return Number(succeeded(docker(format)));
    }

    /** A service loses its process and is started by Docker; a server is killed, and started by a person. */
    function crash(service: string): void {
      if (isServer(service)) {
        succeeded(compose(["kill", "--signal", "KILL", service]));
        succeeded(compose(["start", service]));
      } else {
        compose(["exec", "-T", service, "bash", "-c", "kill -KILL -1"]);
      }
    }
  },
);

/** An external image: no tini is in its container, whose first process nothing inside can kill. */
function isServer(service: string): boolean {
  return service === "nats" || service === "redis";
}

function numbersIn(events: string): number[] {
  if (!/^event: finished$/m.test(events)) return [];
  return [...events.matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number));
}

interface Listed {
  readonly Service: string;
  readonly State: string;
  readonly Health: string;
  readonly ExitCode: number;
}

/** One JSON document in a line. */
function listed(text: string): Listed[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line): Listed => JSON.parse(line));
}
