import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { yard, yardDev, yardEnvironment, yardStarted } from "../../test-fixtures/yard-process.ts";

const directory = tempDirectory();
const project = join(directory, "project");
mkdirSync(join(project, "agents"), { recursive: true });
writeFileSync(join(project, "mcp-servers.json"), '{"mcpServers":{}}');
writeFileSync(
  join(project, "policy.yaml"),
  "version: 1\nrules: [{ id: no, effect: deny, what: { tools: ['*'] } }]\n",
);
writeFileSync(
  join(project, "agents", "reviewer.md"),
  "---\nname: reviewer\ndescription: answers\nmodel: scripted/plan\nplan: { steps: [], answer: done }\n---\nYou review.\n",
);
const env = yardEnvironment(join(directory, "state"));
const dev = yardDev(["--project", project, "--workspace", directory], env);

before(() => dev.printed("Ctrl-C stops everything"));

test("yard logs has the merged log, of one service, from a level on, and its last lines", async () => {
  const all = await yard(["logs"], env);
  assert.equal(all.code, 0, all.stderr);
  assert.match(all.stdout, /^\d\d:\d\d:\d\d yard +switchyard is ready/m);
  assert.match(all.stdout, /^\d\d:\d\d:\d\d runner +service ready/m);
  const runner = await yard(["logs", "runner", "--json"], env);
  const records = runner.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(new Set(records.map(({ process: name }) => name)), new Set(["runner"]));
  const grave = await yard(["logs", "runner", "--level", "error"], env);
  assert.deepEqual([grave.code, grave.stdout, grave.stderr], [0, "", "no line fits\n"]);
  const last = await yard(["logs", "--tail", "1"], env);
  assert.equal(last.stdout.trimEnd().split("\n").length, 1);
});

test("yard logs --follow shows what is written from then on, until Ctrl-C", async () => {
  const follow = yardStarted(["logs", "runner", "--follow", "--tail", "1"], env);
  await follow.printed("service ready");
  const { code, stderr } = await yard(["run", "reviewer", "hello"], env);
  assert.equal(code, 0, stderr);
  await follow.printed("run ended");
  follow.kill("SIGINT");
  assert.equal(await follow.exited, 130);
});

test("logs of an unknown service, and where yard dev never ran, explain what to do", async () => {
  const unknown = await yard(["logs", "nobody"], env);
  assert.equal(unknown.code, 3);
  assert.match(unknown.stderr, /nobody has written nothing to the log\n.*these have: .*runner/);
  const nowhere = await yard(["logs"], yardEnvironment(tempDirectory()));
  assert.equal(nowhere.code, 3);
  assert.match(nowhere.stderr, /there is no log here.*\n.*start \.\/yard dev/);
});

test("streams list has every stream with its consumers and their lag", async () => {
  const { code, stdout, stderr } = await yard(["streams", "list"], env);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^STREAM +MESSAGES +SIZE +CONSUMER +WAITING +IN WORK +REDELIVERED\n/);
  assert.match(stdout, /\nYARD_COMMANDS +\d+ +.* of .* agent-runner +0 +0 +0\n/);
  const json = JSON.parse((await yard(["streams", "list", "--json"], env)).stdout);
  const events = json.data.streams.find(({ name }: { name: string }) => name === "YARD_EVENTS");
  assert.ok(events.messages > 0);
});
