// The composition, started for real. It takes minutes and an engine, so it runs only on request:
//
//   YARD_TEST_DOCKER=1 npm run test:integration -- deploy/test/compose-up
//
// Without a registry, see composition.ts.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { STEP_MS, composition, removeProject, succeeded, whyNoComposition } from "./composition.ts";

const skip = whyNoComposition();
const image = process.env["SWITCHYARD_IMAGE"] ?? "switchyard:dev";
const world = await composition("up");
const { compose, name, project, upgrade, yard } = world;

after(async () => {
  if (skip === false) {
    world.remove();
    spawnSync("docker", ["image", "rm", `${name}:next`]);
  }
  await removeProject(world);
});

function startedAt(service: string): string {
  const ids = compose(["ps", "--quiet", service]).text.trim();
  return spawnSync("docker", ["inspect", "--format", "{{.State.StartedAt}}", ids], {
    encoding: "utf8",
  }).stdout.trim();
}

test(
  "the composition works as docs/operations.md says",
  { skip, timeout: 4 * STEP_MS },
  async (t) => {
    await t.test(
      "a folder that is closed to the containers is named before anything fails",
      async () => {
        world.build();
        await chmod(project, 0o700);
        assert.notEqual(compose(["up", "--detach", "--wait"]).status, 0);
        assert.match(compose(["logs", "folders"]).text, /cannot be read by the containers/);
        const owner = { YARD_UID: String(process.getuid?.() ?? 0), YARD_WORKSPACE: project };
        succeeded(compose(["up", "--detach", "--wait"], owner));
        await chmod(project, 0o755);
      },
    );

    await t.test("it starts, with nothing pulled that is built here, and runs the demo", () => {
      const text = succeeded(compose(["up", "--detach", "--wait"]));
      assert.doesNotMatch(text, /error|denied|pull/i);
      assert.match(succeeded(yard("run", "demo", "hello")), /You asked: "?hello/);
      const doctor = succeeded(yard("doctor"));
      assert.match(doctor, /services .*policy/);
      assert.doesNotMatch(doctor, /yard dev/);
    });

    await t.test("a new agent file counts without a restart", async () => {
      const agent = "name: fresh\nmodel: scripted/plan\ntools: none\nplan: { answer: I am here }\n";
      await writeFile(join(project, "agents/fresh.yaml"), `${agent}description: A new one.\n`);
      const deadline = Date.now() + 60_000;
      let last = yard("run", "fresh", "hello");
      while (last.status !== 0 && Date.now() < deadline) {
        await delay(1_000);
        last = yard("run", "fresh", "hello");
      }
      assert.match(succeeded(last), /I am here/);
    });

    await t.test(
      "what cannot run is not offered, and one's own call needs a setting to be approved",
      () => {
        assert.doesNotMatch(succeeded(yard("tools", "list")), /execute_command/);
        const call = ["tools", "call", "write_file", '{"path":"a.txt","content":"hi"}'];
        const approval = /apr-[0-9a-f]{32}/.exec(yard(...call).text)?.[0] ?? "none";
        assert.match(yard("approvals", "approve", approval).text, /YARD_APPROVE_OWN/);
        succeeded(compose(["up", "--detach", "--wait", "policy"], { YARD_APPROVE_OWN: "all" }));
        succeeded(yard("approvals", "approve", approval));
        assert.match(succeeded(yard(...call, "--approval", approval)), /Wrote 2 bytes/);
      },
    );

    await t.test("a user for a team is let in after a reload", async () => {
      succeeded(compose(["run", "--rm", "--no-TTY", "keys", "--client", "team-a"]));
      succeeded(compose(["kill", "--signal", "HUP", "nats"]));
      const deadline = Date.now() + 20_000;
      const log = (): string => compose(["logs", "nats"]).text;
      while (!/Reloaded server configuration|\[ERR\]/.test(log()) && Date.now() < deadline)
        await delay(500);
      assert.match(log(), /Reloaded server configuration/);
      assert.match(succeeded(yard("run", "fresh", "hello")), /I am here/);
    });

    await t.test(
      "an upgrade replaces the services one by one, and NATS and Redis keep running",
      () => {
        const dockerfile = `FROM ${image}\nLABEL version=next\n`;
        const built = spawnSync("docker", ["build", "--tag", `${name}:next`, "-"], {
          input: dockerfile,
        });
        assert.equal(built.status, 0, String(built.stderr));
        const stores = ["nats", "redis"];
        const services = ["policy", "broker", "runner", "gateway"];
        const before = [...stores, ...services].map((service) => startedAt(service));
        succeeded(upgrade({ SWITCHYARD_IMAGE: `${name}:next` }));
        const now = [...stores, ...services].map((service) => startedAt(service));
        assert.deepEqual(now.slice(0, 2), before.slice(0, 2));
        for (const [index, service] of services.entries())
          assert.ok((now[index + 2] ?? "") > (before[index + 2] ?? ""), service);
        const replaced = now.slice(2);
        assert.deepEqual(replaced, replaced.toSorted(), "one after the other");
        assert.match(succeeded(yard("run", "fresh", "hello")), /I am here/);
      },
    );

    await t.test("a typing error in YARD_POLICY leaves the rules before in force", () => {
      const wrong = { SWITCHYARD_IMAGE: `${name}:next`, YARD_POLICY: "policies/demoo.yaml" };
      succeeded(compose(["up", "--detach", "--wait"], wrong));
      assert.match(compose(["logs", "folders"]).text, /no policies\/demoo\.yaml/);
      assert.match(compose(["logs", "policy"]).text, /policy file refused, the old one stays/);
      assert.match(succeeded(yard("run", "demo", "hello")), /You asked: "?hello/);
    });
  },
);
