import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../helm/", import.meta.url));

/**
 * Renders the chart with helm: with one of the value sets in deploy/helm/values, with `--set` values, of some templates only.
 * Throws with helm's own words when the values are refused.
 */
export function renderChart(
  helm: string,
  {
    values,
    sets = [],
    only = [],
    hooks = true,
  }: { values?: string; sets?: readonly string[]; only?: readonly string[]; hooks?: boolean } = {},
): string {
  return runHelm(helm, [
    "template",
    "switchyard",
    "switchyard",
    "--namespace=switchyard",
    ...(hooks ? [] : ["--no-hooks"]),
    ...(values === undefined ? [] : ["--values", `values/${values}.yaml`]),
    ...sets.flatMap((set) => ["--set", set]),
    ...only.flatMap((path) => ["--show-only", path]),
  ]);
}

export function runHelm(helm: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(helm, args, {
    cwd: folder,
    encoding: "utf8",
    // Without any setting of the person whose machine it is.
    env: { PATH: process.env["PATH"], HOME: "/nonexistent", KUBECONFIG: "/dev/null" },
  });
  if (status !== 0) throw new Error(stderr || `helm ended with ${status}`);
  return stdout;
}
