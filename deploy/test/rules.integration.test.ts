import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { resolvePrometheus } from "@switchyard/local-servers/resolve-prometheus";
import { parse, stringify } from "yaml";

const run = promisify(execFile);
const files = fileURLToPath(new URL("../helm/switchyard/files/", import.meta.url));
const rulesFile = join(files, "rules.yaml");
const overTime = readFileSync(new URL("rules-over-time.yaml", import.meta.url), "utf8");
const found = await resolvePrometheus("promtool", { env: process.env, log: () => {} });
const promtool = "binary" in found ? found.binary : "";
const skip = "reason" in found && `promtool is not to be had: ${found.reason}`;

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly annotations?: { readonly runbook_url?: string };
}
const { groups }: { groups: { rules: Rule[] }[] } = parse(readFileSync(rulesFile, "utf8"));
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.flatMap(({ alert, annotations }) => (alert ? [{ alert, annotations }] : []));

test("promtool takes the rules and every expression of the dashboards", { skip }, async (t) => {
  const { stdout } = await run(promtool, ["check", "rules", "--lint-fatal", rulesFile]);
  assert.match(stdout, new RegExp(`SUCCESS: ${rules.length} rules found`));
  const shown = globSync("dashboards/*.json", { cwd: files }).flatMap((file) => {
    const { panels }: { panels: { targets: { expr: string }[] }[] } = JSON.parse(
      readFileSync(join(files, file), "utf8"),
    );
    return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  });
  assert.ok(shown.length > 20);
  // Promtool reads files of rules only, so each expression is recorded under a name.
  const asRules = shown.map((expr, index) => ({ record: `shown:${index}`, expr }));
  const file = await fileOf(t, stringify({ groups: [{ name: "shown", rules: asRules }] }));
  await run(promtool, ["check", "rules", file]);
});

test(
  "each alert fires when it should and not before, for one installation of two",
  { skip },
  async (t) => {
    const cases: Cases = parse(overTime);
    // The file has the alert's texts; another test checks its link.
    for (const { alertname, exp_alerts } of cases.tests.flatMap((each) => each.alert_rule_test))
      for (const { exp_annotations } of exp_alerts)
        exp_annotations["runbook_url"] = linkOf(alertname);
    const file = await fileOf(t, stringify({ ...cases, rule_files: [rulesFile] }));
    const { stdout } = await run(promtool, ["test", "rules", file]);
    assert.match(stdout, /SUCCESS/);
  },
);

interface Cases {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts: readonly { exp_annotations: Record<string, string> }[];
    }[];
  }[];
}

test("every alert links to its section of the runbooks, and no section is without one", () => {
  const page = readFileSync(new URL("../../docs/runbooks.md", import.meta.url), "utf8");
  const sections = [...page.matchAll(/^### (.+)$/gm)].map(([, title = ""]) => title);
  assert.deepEqual(
    alerts.map(({ alert }) => alert),
    sections,
  );
  for (const { alert } of alerts)
    assert.ok(linkOf(alert).endsWith(`/docs/runbooks.md#${alert.toLowerCase()}`), alert);
});

test("there is a case for every alert and every recorded series", () => {
  const reported = rules.map(({ alert, record }) =>
    alert === undefined ? `expr: ${record}` : `alertname: ${alert}\n        eval_time`,
  );
  assert.ok(reported.length > 12);
  // Alerts need one that fires, recorded series a value or an alert that reads them.
  assert.deepEqual(
    reported.filter((text) => !overTime.includes(text)),
    [],
  );
});

function linkOf(name: string): string {
  return alerts.find(({ alert }) => alert === name)?.annotations?.runbook_url ?? "";
}

async function fileOf(t: TestContext, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "rules-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "file.yaml");
  await writeFile(file, text);
  return file;
}
