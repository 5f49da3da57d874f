import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { CliError } from "../cli-error.ts";
import { startServicesEarly } from "./early-services.ts";
import { launchService, type ServiceSpec } from "./service-process.ts";

const directory = tempDirectory();
const never = new AbortController().signal;
const quiet = { onLine: () => {}, signal: never };

/** A service whose process does this. */
function service(name: string, text: string): ServiceSpec {
  const entry = join(directory, `${name}.mjs`);
  writeFileSync(entry, text);
  return { name, entry, cwd: directory, env: {} };
}

/** Serves a readiness probe with this status, and logs that it is ready after a while in which it writes a line every 100 ms. */
function slowService(name: string, { lines, status }: { lines: number; status: number }) {
  return service(
    name,
    `
import { createServer } from "node:http";
const log = (msg, fields) => console.log(JSON.stringify({ level: "info", time: new Date().toISOString(), msg, ...fields }));
const server = createServer((_, response) => response.writeHead(${status}).end('{"checks":{"redis":"failing"}}'));
let count = 0;
const timer = setInterval(() => {
  log("mcp server connected", { server: "s" + ++count });
  if (count < ${lines}) return;
  clearInterval(timer);
  server.listen(0, "127.0.0.1", () => log("service ready", { healthUrl: "http://127.0.0.1:" + server.address().port }));
}, 100);
`,
  );
}

function timedOut(error: unknown, ...texts: RegExp[]): true {
  assert.ok(error instanceof CliError && error.code === "timeout", String(error));
  for (const text of texts) assert.match(error.message, text);
  return true;
}

test("a start that makes progress is waited for, however long it takes", async () => {
  const startTimeouts = { silenceMs: 2_000, longestMs: 60_000 };
  const began = performance.now();
  const running = await launchService(slowService("slow", { lines: 30, status: 200 }), {
    ...quiet,
    startTimeouts,
  });
  assert.ok(performance.now() - began > startTimeouts.silenceMs);
  await running.stop();
});

test("a start without progress is given up, with the service, what it did and its last lines", async () => {
  const stuck = service("stuck", 'console.log("opening the vault"); setTimeout(() => {}, 1e6);');
  await assert.rejects(
    launchService(stuck, { ...quiet, startTimeouts: { silenceMs: 1_500, longestMs: 60_000 } }),
    (error) =>
      timedOut(error, /^stuck was not ready after .*still starting/, /\n  opening the vault$/),
  );
});

test("a start that only talks is given up in the end", async () => {
  const talker = service("talker", 'setInterval(() => console.log("redis is away"), 100);');
  await assert.rejects(
    launchService(talker, { ...quiet, startTimeouts: { silenceMs: 20_000, longestMs: 2_000 } }),
    (error) => timedOut(error, /^talker was not ready/, /redis is away/),
  );
});

test("a service that runs and is not ready is given up with what its probe answers", async () => {
  await assert.rejects(
    launchService(slowService("unready", { lines: 1, status: 503 }), {
      ...quiet,
      startTimeouts: { silenceMs: 2_000, longestMs: 60_000 },
    }),
    (error) => timedOut(error, /its readiness probe answered: \{"checks":\{"redis":"failing"\}\}/),
  );
});

test("a service that ends before it is ready is named with its last lines", async () => {
  const failing = service("failing", 'console.error("no such file: rules.yaml"); process.exit(1);');
  await assert.rejects(launchService(failing, quiet), {
    code: "start_failed",
    message: "failing did not start (exit code 1); its last lines:\n  no such file: rules.yaml",
  });
});

test("services that were started early and are not needed end at once", async () => {
  const before = await childrenOfThisProcess();
  const services = startServicesEarly(process.env);
  const started = (await childrenOfThisProcess()).filter((pid) => !before.includes(pid));
  assert.equal(started.length, 1);
  services.end();
  await until(async () => (await childrenOfThisProcess()).length === before.length);
});

async function childrenOfThisProcess(): Promise<string[]> {
  const text = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, "utf8");
  return text.trim().split(" ").filter(Boolean);
}
