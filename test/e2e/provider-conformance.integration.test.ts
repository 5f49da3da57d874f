import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { publishCommand } from "@switchyard/bus/publish";
import type { FilePart } from "@switchyard/contracts/agent-runner/content-parts";
import { getRun, startRun, type RunDetail } from "@switchyard/contracts/agent-runner/runs";
import { until } from "@switchyard/local-servers/until";
import {
  CONFORMANCE_ROWS,
  type ConformanceRow,
} from "../../services/agent-runner/test-fixtures/families/conformance-rows.ts";
import { FAMILIES } from "../../services/agent-runner/test-fixtures/families/families.ts";
import { startFamilyServer } from "../../services/agent-runner/test-fixtures/families/family-server.ts";
import { samplePng } from "../lib/sample-files.ts";
import { connectAsCli, startYardDev } from "../lib/yard-dev.ts";

// One installation with all services; each row has providers of its own, so that no pause and nothing learned is shared.
const fakes = await startFamilyServer();
const directory = await mkdtemp(join(tmpdir(), "switchyard-providers-"));
const workspace = join(directory, "work");
for (const folder of ["agents", "policies", "work"]) await mkdir(join(directory, folder));
await writeFile(join(workspace, "a.txt"), "ALPHA\n");
await writeFile(join(workspace, "b.txt"), "BETA\n");
await writeFile(
  join(directory, "agents/reader.md"),
  "---\nname: reader\ndescription: Reads.\ntools: [read_file]\n---\nYou read.\n",
);
await writeFile(
  join(directory, "policies/rules.yaml"),
  "version: 1\nrules:\n  - { id: reads, effect: allow, approval: auto, what: { tools: [read_file] } }\n",
);

await writeFile(join(directory, "mcp-servers.json"), '{ "mcpServers": {} }\n');

const providerOf = (index: number, family: ConformanceRow["family"]) => `r${index}-${family}`;
const modelOf = (index: number, { family, model = FAMILIES[family].model }: ConformanceRow) =>
  `${providerOf(index, family)}/${model}`;
const fallbackOf = (index: number, { fallback }: ConformanceRow) =>
  fallback === undefined ? [] : [`${providerOf(index, fallback)}/${FAMILIES[fallback].model}`];
await writeFile(
  join(directory, "models.json"),
  JSON.stringify({
    providers: Object.fromEntries(
      CONFORMANCE_ROWS.flatMap(({ family, fallback }, index) =>
        [family, ...(fallback === undefined ? [] : [fallback])].map((name) => [
          providerOf(index, name),
          FAMILIES[name].settings(fakes.addressOf(index, name)),
        ]),
      ),
    ),
    models: Object.fromEntries(
      CONFORMANCE_ROWS.map((row, index) => [
        modelOf(index, row),
        { fallbacks: fallbackOf(index, row) },
      ]),
    ),
  }),
);
const dev = await startYardDev({
  project: directory,
  stateDir: join(directory, "state"),
  workspace,
  env: { FAMILY_KEY: "key", YARD_RUNNER_SLOTS: "48" },
});
after(async () => {
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});
const token = (await readFile(dev.httpTokenFile, "utf8")).trim();

const bus = await connectAsCli(dev);
after(() => bus.close());

const query = new URLSearchParams({ name: "dot.png", mediaType: "image/png" }).toString();
const stored = await fetch(`${dev.httpUrl}/api/v1/files?${query}`, {
  method: "POST",
  headers: { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" },
  body: new Uint8Array(samplePng),
});
const { file } = (await stored.json()) as { file: FilePart };

/** The ended run of a row. */
async function runOf(row: ConformanceRow, index: number): Promise<RunDetail> {
  const { input = "look", hasImage = false, command = {} } = row;
  const runId = `row-${index}`;
  const said = hasImage ? [{ type: "text" as const, text: input }, file] : input;
  const start = { runId, model: modelOf(index, row), input: said, ...command };
  await publishCommand(bus, startRun, { agent: "reader" }, start);
  const run = await until(
    async () => (await call(bus, getRun, { runId }).catch(() => null))?.run,
    (known) => known?.status === "succeeded" || known?.status === "failed",
    { timeoutMs: 120_000, intervalMs: 100 }, // many rows wait at once
  );
  return run ?? assert.fail();
}

void test(
  "a run continues after every quirk of every family of providers, or fails with its code",
  { concurrency: 48 },
  async (context) => {
    await Promise.all(
      CONFORMANCE_ROWS.map((row, index) =>
        context.test(`${row.family}: ${row.what}`, async () => {
          const { family, fallback, answers, ends, lessons = [], check } = row;
          const seen = fakes.rowOf(index);
          seen.answers.push(...answers);
          const run = await runOf(row, index);
          const shown = JSON.stringify({ run, refused: seen.refused });
          if ("output" in ends) assert.equal(run.output, ends.output, shown);
          else assert.equal(run.failure?.code, ends.code, shown);
          if ("says" in ends) assert.match(run.failure?.message ?? "", ends.says ?? /^/);
          assert.equal(seen.accepted.length, answers.length, shown);
          const learned = [
            ...lessons,
            ...FAMILIES[family].lessons,
            ...(fallback === undefined ? [] : FAMILIES[fallback].lessons),
          ];
          const odd = seen.refused.filter((text) => !learned.some((lesson) => lesson.test(text)));
          assert.deepEqual(odd, [], "every request has the form that the provider accepts");
          assert.equal(new Set(seen.refused).size, seen.refused.length, "a lesson is learned once");
          check?.(seen, run);
        }),
      ),
    );
  },
);
