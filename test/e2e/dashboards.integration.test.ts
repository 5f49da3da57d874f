import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "@switchyard/local-servers/free-port";
import { resolvePrometheus } from "@switchyard/local-servers/resolve-prometheus";
import { startServerProcess, type RunningServer } from "@switchyard/local-servers/server-process";
import { until } from "@switchyard/local-servers/until";
import { stringify } from "yaml";
import { yard, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { startYardDev } from "../lib/yard-dev.ts";

const files = fileURLToPath(new URL("../../deploy/helm/switchyard/files/", import.meta.url));
const found = await resolvePrometheus("prometheus", { env: process.env, log: () => {} });
const skip = "reason" in found && `prometheus is not to be had: ${found.reason}`;

/** Panels of what does not happen here: refused commands, calls of built-in tools, models over HTTP. Prometheus has to take them. */
const NOTHING_YET = new Set([
  "sum by (code) (rate(yard_run_commands_rejected_total[5m]))",
  "sum by (tool, outcome) (rate(yard_toolbox_calls_total[5m]))",
  "histogram_quantile(0.95, sum by (le, provider) (rate(yard_model_call_duration_seconds_bucket[5m])))",
]);

test(
  "a real Prometheus reads all services, and every panel of the dashboards has data",
  { skip },
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), "yard-dashboards-"));
    const dev = await startYardDev({ project: "bench/project", stateDir: join(directory, "s") });
    const hosts = dev.processes.flatMap(({ healthUrl }) =>
      healthUrl === null ? [] : [new URL(healthUrl).host],
    );
    const prometheus = await startPrometheus(join(directory, "p"), hosts);
    t.after(async () => {
      await prometheus.stop();
      await dev.stop();
      await rm(directory, { recursive: true, force: true });
    });
    const query = (expr: string): Promise<readonly Sample[]> => ask(prometheus.url, expr);
    await until(
      () => query("up == 1"),
      (up) => up.length === hosts.length,
    );
    const runOnce = async (): Promise<void> => {
      const { code, stderr } = await yard(
        ["run", "three-calls", "go"],
        yardEnvironment(dev.stateDir),
      );
      assert.equal(code, 0, stderr);
    };
    await runOnce();
    // A rate needs two samples, and a series begins with its first run.
    await until(
      () => query("sum(yard_runs_total)"),
      (samples) => samples.length > 0,
    );
    await runOnce();
    await runOnce();

    const shown = globSync("dashboards/*.json", { cwd: files }).flatMap((file) => {
      const { panels }: Dashboard = JSON.parse(readFileSync(join(files, file), "utf8"));
      return panels.flatMap(({ title, targets }) =>
        targets.map(({ expr }) => ({ panel: `${file}: ${title}`, expr })),
      );
    });
    assert.ok(shown.length > 20);
    for (const { panel, expr } of shown) {
      const samples = await query(expr);
      if (NOTHING_YET.has(expr) || samples.some(isNumber)) continue;
      await until(
        () => query(expr),
        (later) => later.some(isNumber),
      ).catch((error: unknown) => assert.fail(`${panel}: ${String(error)}`));
    }
    // Prometheus reads the last run up to a second later.
    await until(
      () => query("sum(yard_runs_total)"),
      ([ended]) => ended?.value[1] === "3",
    );
  },
);

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

/** The HTTP API of Prometheus has labels, and the value at a time in seconds. */
interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** A quantile of no observations is NaN. */
function isNumber({ value: [, value] }: Sample): boolean {
  return Number.isFinite(Number(value));
}

async function startPrometheus(
  dataDir: string,
  targets: readonly string[],
): Promise<RunningServer> {
  const port = await freePort();
  const config = join(dataDir, "prometheus.yml");
  const url = `http://127.0.0.1:${port}`;
  const scrape = { job_name: "switchyard", static_configs: [{ targets }] };
  return await startServerProcess({
    name: "prometheus",
    binary: "binary" in found ? found.binary : "",
    args: [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(dataDir, "series")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    dataDir,
    startTimeoutMs: 60_000,
    prepare: () =>
      writeFile(config, stringify({ global: { scrape_interval: "1s" }, scrape_configs: [scrape] })),
    async ready(_pid, signal) {
      await until(() =>
        fetch(`${url}/-/ready`, { signal }).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
      return { url, host: "127.0.0.1", port, version: "" };
    },
  });
}

async function ask(url: string, expr: string): Promise<readonly Sample[]> {
  const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expr)}`, {
    signal: AbortSignal.timeout(60_000),
  });
  const { status, data, error } = (await answer.json()) as QueryAnswer;
  assert.equal(status, "success", `${expr}: ${error}`);
  return data?.result ?? [];
}

interface QueryAnswer {
  readonly status: string;
  readonly error?: string;
  readonly data?: { readonly result: readonly Sample[] };
}
