import { join } from "node:path";
import type { Check } from "../check.ts";
import { runProgram } from "../run-program.ts";
import { ready, upgradeLine } from "./install.ts";

/** Reads what the sidecar of Grafana's chart finds by its label. */
export const dashboards: Check = {
  name: "dashboards",
  title: "Grafana's own library reads every dashboard of the chart, strictly",
  skip: ({ missing }) => missing.get("dashboards") ?? null,
  async run({ cache, lab, kubectl }) {
    await lab.shell(upgradeLine("--set monitoring.dashboards.enabled=true"), 600_000);
    await ready(kubectl);
    const maps = await kubectl.list<{ data: Record<string, string> }>(
      "configmap",
      "-lgrafana_dashboard=1",
    );
    const files = maps.flatMap(({ data }) => Object.entries(data));
    for (const [name, input] of files)
      await runProgram([join(cache, "bin/dashboards")], { input }).catch((error: unknown) => {
        throw new Error(`${name}: ${String(error)}`);
      });
    if (files.length === 0) throw new Error("no ConfigMap has the label grafana_dashboard");
    await lab.shell(upgradeLine(), 600_000);
    return files.map(([name]) => name).join(", ");
  },
};
