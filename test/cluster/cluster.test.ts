import assert from "node:assert/strict";
import { test } from "node:test";
import type { Check } from "./check.ts";
import { checks } from "./checks.ts";
import { commandsBelow } from "./docs-lines.ts";
import { checkLoad } from "./load/load.ts";
import { junitOf, tableOf } from "./report.ts";
import { readSettings } from "./settings.ts";

const check: Check = { name: "a", title: "a < b", run: async () => "" };

test("the commands of an installation are read from the pages word for word", async () => {
  const [install = [], first = []] = await commandsBelow(
    "kubernetes.md",
    "Install in five minutes",
  );
  assert.match(install.at(-1) ?? "", /^helm -n switchyard install switchyard deploy\/helm/);
  assert.ok(first.some((line) => line.startsWith("helm -n switchyard test")));
  assert.ok(first.some((line) => line.includes("port-forward svc/gateway 8321")));
  const [user = []] = await commandsBelow("kubernetes.md", "Publish a run from a pod");
  assert.ok(user.some((line) => line.startsWith("./yard keys init --dir keys --client team-a")));
});

test("results are JUnit XML, with whatever a program printed", () => {
  const xml = junitOf([
    { check, state: "passed", seconds: 2, text: "ok" },
    { check, state: "failed", seconds: 3, text: 'say "no" & \u001b[31mred' },
    { check, state: "skipped", seconds: 0, text: "one node" },
  ]);
  assert.match(xml, /tests="3" failures="1" skipped="1" time="5"/);
  assert.match(xml, /<failure message="say &quot;no&quot; &amp; \?\[31mred">/);
  assert.match(xml, /name="a: a &lt; b"/);
});

test("the table has a line for each check, with the first line of its facts", () => {
  const table = tableOf([{ check, state: "failed", seconds: 12, text: "not ready\nmore" }]);
  assert.equal(table, "FAILED  a  12 s  not ready");
});

test("a lost run, a second end and a doubled call each fail a load", () => {
  const fine = {
    runs: 2,
    ends: { "run.finished": 2 },
    lost: [],
    endedTwice: [],
    calls: 8,
    failedCalls: 0,
    doubled: [],
  };
  assert.match(checkLoad(fine), /2 runs finished, each once; 8 calls, none twice/);
  assert.throws(() => checkLoad({ ...fine, lost: ["x-1"] }), /lost: x-1/);
  assert.throws(() => checkLoad({ ...fine, endedTwice: ["x-1"] }), /ended twice: x-1/);
  assert.throws(() => checkLoad({ ...fine, doubled: ["x-1/one ×2"] }), /more than once: x-1/);
  assert.throws(() => checkLoad({ ...fine, ends: { "run.failed": 2 } }), /run\.failed/);
  assert.throws(() => checkLoad({ ...fine, calls: 7 }), /7 calls in place of 8/);
  assert.throws(() => checkLoad({ ...fine, calls: 7 }, { mayFail: true }), /7 calls/);
  assert.match(checkLoad({ ...fine, calls: 7, failedCalls: 1 }, { mayFail: true }), /1 reported/);
});

test("an option that does not fit is refused with its name", () => {
  assert.equal(readSettings(["--cache", "/var/tmp/x", "--nodes", "1"]).nodes, 1);
  assert.throws(() => readSettings(["--nodes", "3"]), /--nodes: 1 or 2/);
  assert.throws(() => readSettings(["--minutes", "soon"]), /--minutes/);
  assert.throws(() => readSettings(["--cache", "/a b"]), /--cache/);
  assert.throws(() => readSettings(["--fast"]), TypeError);
});

test("each check has a name of its own", () => {
  assert.equal(new Set(checks.map(({ name }) => name)).size, checks.length);
});
